"""How long a trial may take, predicted from what is known of it. Pure functions; all times in seconds.

A trial that misses its `expected_s` is left running. Only when a part of it (set-up, submissions, verification) has
taken several times as long is it ended; one that ends in between is slow, which is noted. It is not started again
instead: a fault that is partly random would then pass as ok
(`docs/decisions/0012-patience-instead-of-a-second-run.md`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cubisect.outcome import Part, Phase
from cubisect.trial import Method, TrialSpec

MARGIN = 5.0
"""Predictions are means on a quiet machine; lanes, neighbours and swapping easily make them five times as long."""

PATIENCE = 4.0
"""How many times the expected time must pass before a trial is called a hang."""

LARGEST_FACTOR = 20.0
"""A machine slower than this is not slow but broken; the canary's own deadline says so."""

NEIGHBOUR_SLOWDOWN = 1.0
"""Each busy process on the same GPU makes everything so much longer again."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What a trial is made of. `floor_s` is the least that `expected_s` may be."""

    floor_s: float
    start_s: float
    per_descriptor_s: float
    per_copy_call_s: float
    per_byte_s: float
    setup_per_byte_s: float
    verify_per_byte_s: float

    def scaled(self, factor: float) -> "Costs":
        """Return the costs on a machine that is slower by `factor`; the floor stays."""
        return replace(
            self,
            start_s=self.start_s * factor,
            per_descriptor_s=self.per_descriptor_s * factor,
            per_copy_call_s=self.per_copy_call_s * factor,
            per_byte_s=self.per_byte_s * factor,
            setup_per_byte_s=self.setup_per_byte_s * factor,
            verify_per_byte_s=self.verify_per_byte_s * factor,
        )


CUDA = Costs(
    floor_s=4.0,  # start-up takes 0.3 s; contexts of several lanes wait for each other
    start_s=0.5,
    per_descriptor_s=0.8e-6,  # one submission, host to device, measured on an H200
    per_copy_call_s=2.4e-6,
    per_byte_s=0.1e-9,  # pageable memory, the slowest: about 10 GB/s
    setup_per_byte_s=1e-9,  # pinning and filling take half of it
    verify_per_byte_s=5e-9,  # up to 4 ns, and giving all memory back
)

SIMULATED = Costs(
    floor_s=0.5,  # a trial takes 0.01 s
    start_s=0.02,
    per_descriptor_s=0.0,
    per_copy_call_s=0.0,
    per_byte_s=0.0,
    setup_per_byte_s=0.0,
    verify_per_byte_s=0.0,
)

PER_DRAWN_DESCRIPTOR_S = 1e-6
"""Drawing and placing one descriptor, whatever the driver."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The time that each part of a trial has. Parts are told apart so that a slow set-up is no hang."""

    setup_s: float
    submit_s: float
    verify_s: float

    @classmethod
    def even(cls, seconds: float) -> "Allowance":
        """Return the same time for every part."""
        return cls(setup_s=seconds, submit_s=seconds, verify_s=seconds)

    @property
    def total_s(self) -> float:
        """The time of the whole trial."""
        return self.setup_s + self.submit_s + self.verify_s

    def by_part(self) -> dict[str, float]:
        """Return the times by part."""
        return {Part.SETUP: self.setup_s, Part.SUBMIT: self.submit_s, Part.VERIFY: self.verify_s}

    def left_s(self, phase: Phase, phase_s: Mapping[str, float], since_start_s: float) -> float:
        """Return what is left to the part that `phase` belongs to, not positive when it is late.

        `phase_s` are the seconds spent so far in each phase. Set-up is what the others leave of `since_start_s`: a
        process that was started ahead has waited for its trial before that.
        """
        spent = dict.fromkeys(Part, 0.0)
        for other in Phase:
            spent[other.part] += phase_s.get(other.label, 0.0)
        spent[Part.SETUP] = since_start_s - spent[Part.SUBMIT] - spent[Part.VERIFY]
        return self.by_part()[phase.part] - spent[phase.part]

    def shortest_after_s(self, phase: Phase) -> float:
        """Return the least time of the parts that are still to come: none of them can be late sooner."""
        times = self.by_part()
        return min((times[part] for part in Part if part.follows(phase.part)), default=math.inf)


@dataclass(frozen=True, kw_only=True)
class Deadline:
    """When a trial is late, and how long each part of it may take before it is ended."""

    expected_s: float
    allowance: Allowance

    @property
    def final_s(self) -> float:
        """The longest that the whole trial can take."""
        return self.allowance.total_s


def costs_of(driver: str) -> Costs:
    """Return what is assumed of a driver before it has been calibrated."""
    return CUDA if driver == "cuda" else SIMULATED


def predicted(spec: TrialSpec, costs: Costs) -> Allowance:
    """Return the mean time of each part of the trial on a quiet machine."""
    descriptors, size = _size_of(spec)
    per_descriptor = costs.per_copy_call_s if spec.method is Method.PERCOPY else costs.per_descriptor_s
    submission = descriptors * per_descriptor + size * costs.per_byte_s
    busy = 1.0 + NEIGHBOUR_SLOWDOWN * (spec.neighbours + spec.ranks - 1)
    return Allowance(
        setup_s=costs.start_s + (size * costs.setup_per_byte_s + descriptors * PER_DRAWN_DESCRIPTOR_S) * busy,
        submit_s=spec.repetition * submission * busy,
        verify_s=size * costs.verify_per_byte_s * busy,
    )


def predicted_s(spec: TrialSpec, costs: Costs) -> float:
    """Return the mean time of the trial on a quiet machine."""
    return predicted(spec, costs).total_s


def deadline_of(spec: TrialSpec, costs: Costs, timeout_s: float | None = None) -> Deadline:
    """Return the deadline of a trial; a `timeout_s` that the user gave is what each part has."""
    mean = predicted(spec, costs)
    expected = max(costs.floor_s, MARGIN * mean.total_s)
    if timeout_s is not None:
        return Deadline(expected_s=min(expected, timeout_s), allowance=Allowance.even(timeout_s))
    allowance = Allowance(
        setup_s=PATIENCE * max(costs.floor_s, MARGIN * mean.setup_s),
        submit_s=PATIENCE * max(costs.floor_s, MARGIN * mean.submit_s),
        verify_s=PATIENCE * max(costs.floor_s, MARGIN * mean.verify_s),
    )
    return Deadline(expected_s=expected, allowance=allowance)


def calibrated(costs: Costs, canary: TrialSpec, measured_s: float) -> Costs:
    """Return the costs on this machine, given how long a canary trial took; never faster than assumed."""
    factor = measured_s / predicted_s(canary, costs)
    return costs.scaled(min(max(factor, 1.0), LARGEST_FACTOR))


def _size_of(spec: TrialSpec) -> tuple[int, int]:
    """Return descriptors and bytes of one submission."""
    if spec.descriptors is not None or spec.workload != "none":
        return len(spec.batch), int(spec.sizes.sum())
    return spec.descriptor_count, spec.total_bytes
