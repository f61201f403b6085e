"""Real KV-cache transfers as explicit descriptor lists."""

from cubisect.batch import Descriptors
from cubisect.space import Point


def workload_descriptors(point: Point, seed: int) -> Descriptors:
    """Return the descriptors of `point.workload` at `point.scale`, drawn with `seed`."""
    raise NotImplementedError
