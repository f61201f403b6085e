"""Descriptor counts that public reports name: the first points of a campaign."""

from cubisect.space import Point, Range, Space, Value

REPORTED_COUNTS = (51_828, 19_634, 65_536, 65_535, 32_768, 16_384, 8_192, 4_096)
"""FACTS §4: the counts of vLLM #49276 first, then limits reported of similar calls."""

REPORTED_MEAN_SIZES = (4_096, 64, 65_536)
"""Bytes per descriptor in order of preference; the first at which the point is feasible is taken."""

REPORTED_REPETITIONS = (3, 1)
"""The reported hang came in the third submission."""


def reported_points(space: Space) -> list[Point]:
    """Return the reported counts as points of `space`, to be enqueued first; none when the count is not varied."""
    if not isinstance(space.varied.get("descriptor_count"), Range):
        return []
    found = (_point(space, count) for count in REPORTED_COUNTS)
    return list(dict.fromkeys(point for point in found if point is not None))


def _point(space: Space, count: int) -> Point | None:
    """Return a feasible point with `count` descriptors and everything else as near as possible to the report."""
    for repetition in REPORTED_REPETITIONS:
        for mean_size in REPORTED_MEAN_SIZES:
            wanted: dict[str, Value] = {
                "descriptor_count": count,
                "total_bytes": count * mean_size,
                "repetition": repetition,
                "size_mix": "lognormal",
                "size_spread": 0.5,
            }
            point = _nearest(space, wanted)
            if point.descriptor_count == count and space.contains(point):
                return point
    return None


def _nearest(space: Space, wanted: dict[str, Value]) -> Point:
    """Return the point with the wanted values, or the base's, moved into the domains of the varied axes."""
    values: dict[str, Value] = {**space.base.values(), **{n: v for n, v in wanted.items() if n in space.varied}}
    for axis, _, _ in space.numeric():
        domain = space.varied[axis.name]
        assert isinstance(domain, Range)
        values[axis.name] = axis.check(min(max(float(values[axis.name]), domain.low), domain.high))
    for category, allowed in space.categorical():
        if values[category.name] not in allowed:
            values[category.name] = allowed[0]
    return Point(**values)  # type: ignore[arg-type]  # every value is its axis's own
