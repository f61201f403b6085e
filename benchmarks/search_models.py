"""Known failure regions in closed form, for `benchmarks/search.py`: no batch is built and no process started.

A truth maps columns of coordinates (log2 on log axes) to the probability of every kind of failure. The shares in
brackets are of the feasible space and are measured by ``benchmarks/search.py --shares``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cubisect.outcome import Outcome
from cubisect.space import Space

Float = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]
Truth = Callable[["Axes"], dict[Outcome, Float]]

CONTEXT = {"direction": ("h2d", "d2h"), "host_memory": ("pinned", "registered", "pageable")}
WIDE_CONTEXT = {
    **CONTEXT,
    "size_order": ("shuffled", "ascending", "runs", "alternating"),
    "layout": ("contiguous", "shuffled_source", "shuffled_both"),
    "flags": (0, 1),
}


class Axes:
    """Columns of coordinates under the short names of the formulas: lc, lb, lr are log2 of count, bytes, repetition."""

    def __init__(self, columns: Columns) -> None:
        self.lc, self.lb, self.lr = columns["descriptor_count"], columns["total_bytes"], columns["repetition"]
        self.spread, self.mix = columns["size_spread"], columns["size_mix"]
        self.direction, self.memory = columns["direction"], columns["host_memory"]
        self.alignment: Float = columns.get("alignment", np.zeros(len(self.lc)))

    @property
    def mean(self) -> Float:
        """Log2 of the mean size."""
        return np.asarray(self.lb - self.lc)


@dataclass(frozen=True, kw_only=True)
class Model:
    """One known truth. `level` is half the rate of failure within the region: what counts as predicted failing."""

    name: str
    truth: Truth
    level: float = 0.5
    held_out: bool = False
    extra: tuple[str, ...] = ()
    wide: bool = False

    @property
    def space(self) -> Space:
        """The space on which the model is searched."""
        vary = {**(WIDE_CONTEXT if self.wide else CONTEXT), **dict.fromkeys(self.extra)}
        return Space.of(vary=vary)

    def failing(self, columns: Columns) -> dict[Outcome, Float]:
        """Return the probability of every kind of failure at each row of `columns`."""
        return self.truth(Axes(columns))


def _one(kind: Outcome, p: float, inside: Callable[[Axes], NDArray[np.bool_]]) -> Truth:
    return lambda a: {kind: p * inside(a)}


def _ball(a: Axes, centre: tuple[float, float, float], half: tuple[float, float, float]) -> NDArray[np.bool_]:
    gaps = ((a.lc - centre[0]) / half[0], (a.lb - centre[1]) / half[1], (a.spread - centre[2]) / half[2])
    return np.asarray(sum(g**2 for g in gaps) <= 1.0)


def _two_of_the_report(a: Axes) -> dict[Outcome, Float]:
    segfault = (a.lc > np.log2(46_000)) & (a.lb > 25) & (a.direction == "h2d")
    within = (a.lc > np.log2(15_500)) & (a.lc < np.log2(27_000))
    hang = within & (a.lr >= np.log2(3)) & (a.memory != "pageable")
    return {Outcome.SEGFAULT: 1.0 * segfault, Outcome.HANG: 0.8 * hang}


def _archipelago(a: Axes) -> dict[Outcome, Float]:
    return {
        Outcome.SEGFAULT: 1.0 * _ball(a, (15.5, 29.0, 0.5), (1.6, 2.4, 0.28)),
        Outcome.HANG: 0.9 * ((a.lc + a.lr > 17) & (a.lc < 13) & (a.lb < 22) & (a.spread < 0.5)),
        Outcome.ERROR: 1.0 * ((a.mean > 20) & (a.mix == "pareto") & (a.lr > 2)),
    }


def _unlike_pair(a: Axes) -> dict[Outcome, Float]:
    return {
        Outcome.ERROR: 1.0 * ((a.mean > 6) & (a.mean < 8.5) & (a.spread > 0.6) & (a.lr < 4)),
        Outcome.ASYNC_ERROR: 0.5 * ((a.lc > 17) & (a.lb > 27) & (a.memory == "registered")),
    }


def _oblique(a: Axes) -> Float:
    return np.asarray(a.lc + 0.6 * a.lb + 1.5 * a.lr)


_SEGV, _HANG, _ERROR = Outcome.SEGFAULT, Outcome.HANG, Outcome.ERROR

_MODELS = (
    # Shapes of the prototype study: the search was developed on some of these.
    Model(name="threshold", truth=_one(_SEGV, 1.0, lambda a: a.lc >= 15.3)),
    Model(name="band", truth=_one(_SEGV, 0.95, lambda a: (a.mean >= 11.5) & (a.mean <= 15) & (a.spread > 0.25)
                                  & (a.spread < 0.75) & (a.lc >= 11.2))),
    Model(name="island", truth=_one(_SEGV, 1.0, lambda a: _ball(a, (14.0, 28.0, 0.6), (1.4, 1.9, 0.19)))),
    Model(name="accumulation", truth=_one(_HANG, 1.0, lambda a: a.lc + a.lr > 21.5)),
    Model(name="mixridge", truth=_one(_ERROR, 1.0, lambda a: (a.mix == "bimodal") & (a.spread > 0.25)
                                      & (np.abs(a.lb - 21 - a.lc / 2) < 1.15))),
    Model(name="two49276", truth=_two_of_the_report),
    Model(name="flaky30", truth=_one(_SEGV, 0.3, lambda a: (a.lc >= 13.6) & (a.spread > 0.45)), level=0.15),
    Model(name="align8d", truth=_one(_ERROR, 1.0, lambda a: (a.alignment <= 2) & (a.lc > 10.5) & (a.direction == "h2d")
                                     & np.isin(a.mix, ("pareto", "bimodal"))), extra=("alignment",)),
    Model(name="archipelago", truth=_archipelago),
    Model(name="null", truth=_one(_SEGV, 0.0, lambda a: a.lc < 0)),
    Model(name="window", truth=_one(_SEGV, 0.9, lambda a: (a.lb + a.lr > 26) & (a.lb + a.lr < 28.5)
                                    & np.isin(a.mix, ("uniform", "lognormal")) & (a.spread > 0.5))),
    Model(name="huge", truth=_one(_ERROR, 1.0, lambda a: (a.lc < 4.5) & (a.lb > 26) & (a.lr > 3))),
    Model(name="slab3", truth=_one(_SEGV, 1.0, lambda a: (np.abs(_oblique(a) - 34) < 1.0)
                                   & (a.direction == "h2d"))),
    Model(name="flaky50", truth=_one(_SEGV, 0.5, lambda a: (a.lc > 12) & (a.lb > 24) & (a.spread < 0.5)
                                     & (a.memory == "pageable")), level=0.25),
    Model(name="needle", truth=_one(_SEGV, 1.0, lambda a: (np.abs(a.lc - 15) < 1.2) & (np.abs(a.lb - 27) < 1.5)
                                    & (np.abs(a.lr - 4) < 1.0))),
    # Held out: written before the search was tuned, run once it was not changed any more.
    Model(name="combs", truth=_one(_SEGV, 1.0, lambda a: (np.abs(np.mod(a.spread * 3, 1.0) - 0.5) < 0.2)
                                   & (a.lb > 26) & (a.lc > 14)), held_out=True),
    Model(name="product", truth=_one(_HANG, 1.0, lambda a: (a.lc + a.lr > 17) & (a.lc + a.lr < 19)
                                     & (a.memory == "registered")), held_out=True),
    Model(name="island11d", truth=_one(_SEGV, 1.0, lambda a: _ball(a, (9.0, 22.0, 0.4), (2.2, 2.4, 0.2))),
          held_out=True, extra=("alignment",), wide=True),
    Model(name="unlike-pair", truth=_unlike_pair, held_out=True),
    Model(name="tilted", truth=_one(_ERROR, 1.0, lambda a: (np.abs(a.mean - a.lr - 8) < 1.0)
                                    & (a.direction == "d2h") & (a.mix != "uniform") & (a.lc > 8)), held_out=True),
    Model(name="rare15", truth=_one(_SEGV, 0.15, lambda a: (a.mean < 9) & (a.lc > 12)), level=0.075, held_out=True),
    Model(name="slab4", truth=_one(_SEGV, 1.0, lambda a: (np.abs(a.lc - 0.5 * a.lb + a.lr + 6 * a.spread - 6) < 0.8)
                                   & (a.memory != "pinned")), held_out=True),
)  # fmt: skip

MODELS: Mapping[str, Model] = MappingProxyType({model.name: model for model in _MODELS})
"""Every model by name."""
