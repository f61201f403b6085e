"""The axes of a space as Optuna distributions.

A log axis is a float in its coordinate (log2 of the value), never a log-scaled integer of 34 bits; whole numbers on a
linear axis are integers; named values are choices. `Space.point` turns a trial's parameters into the point.
"""

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from cubisect.space import NumericAxis, Range, Scale, Space, Value, axis_named


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """Return the distribution of every varied axis, for ``study.ask(fixed_distributions)``."""
    return {name: _distribution(name, domain) for name, domain in space.varied.items()}


def _distribution(name: str, domain: Range | tuple[Value, ...]) -> BaseDistribution:
    axis = axis_named(name)
    if not isinstance(domain, Range) or not isinstance(axis, NumericAxis):
        return CategoricalDistribution(domain)
    if axis.integer and axis.scale is Scale.LINEAR:
        return IntDistribution(int(domain.low), int(domain.high))
    return FloatDistribution(axis.to_coordinate(domain.low), axis.to_coordinate(domain.high))
