"""Fault models of one plain shape each, to see whether a search finds it and an analysis names it."""

import math
from collections.abc import Mapping

from cubisect.drivers.fault_models.traits import Manner, bytes_of, count_of, count_per_call
from cubisect.outcome import FAILURES, HangKind, Outcome
from cubisect.trial import TrialSpec


class Threshold:
    """Segfault, always, from 40,000 descriptors in one call (17.3 % of the default space)."""

    name = "threshold"

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        """Return certainty at and above the threshold."""
        return {Outcome.SEGFAULT: 1.0} if count_per_call(trial) >= 40_000 else {}


class Band:
    """Segfault, 19 times in 20, in a band: not monotone in any axis (3.3 % of the default space).

    Mean size 3 to 32 KiB, size_spread between 0.25 and 0.75, 2,400 descriptors or more.
    """

    name = "band"

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        """Return the hazard within the band."""
        mean_size = bytes_of(trial) / count_of(trial)
        inside = 3_072 <= mean_size <= 32_768 and 0.25 < trial.size_spread < 0.75 and count_of(trial) >= 2_400
        return {Outcome.SEGFAULT: 0.95} if inside else {}


class Island:
    """Segfault, always, within an ellipsoid (0.6 % of the default space).

    Its centre is 16,384 descriptors, 256 MiB, size_spread 0.6; its half axes are 1.5 octaves, 2 octaves and 0.2.
    """

    name = "island"

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        """Return certainty within the ellipsoid."""
        distance = math.hypot(
            (math.log2(count_of(trial)) - 14.0) / 1.5,
            (math.log2(bytes_of(trial)) - 28.0) / 2.0,
            (trial.size_spread - 0.6) / 0.2,
        )
        return {Outcome.SEGFAULT: 1.0} if distance <= 1.0 else {}


class Accumulation:
    """Hang, always, once 3,000,000 descriptors have been submitted, over all repetitions (9.6 % of the default space).

    It strikes in the submission that passes the limit, and it sleeps rather than spins.
    """

    name = "accumulation"
    limit = 3_000_000

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        """Return certainty above the limit."""
        return {Outcome.HANG: 1.0} if count_of(trial) * trial.repetition > self.limit else {}

    def manner(self, trial: TrialSpec, outcome: Outcome) -> Manner:  # noqa: ARG002  (hangs only)
        """Return the submission in which the limit is passed."""
        return Manner(repetition=self.limit // count_of(trial) + 1, hang=HangKind.BLOCKED)


class Flaky:
    """Segfault, 3 times in 10, from 12,400 descriptors and size_spread above 0.45 (13.7 % of the default space).

    The same batch ends differently from run to run: only replicates tell it from a ragged boundary.
    """

    name = "flaky"

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        """Return the hazard within the region."""
        return {Outcome.SEGFAULT: 0.3} if count_of(trial) >= 12_400 and trial.size_spread > 0.45 else {}


class EveryOutcome:
    """Every failing outcome once, always, each in an octave of descriptor_count (29.1 % of the default space).

    From 1,024 descriptors on, in alphabetical order: async_error, corrupt, crash, error, hang, segfault.
    """

    name = "every-outcome"

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        """Return certainty of the octave's outcome."""
        octave = count_of(trial).bit_length() - 11
        kinds = sorted(FAILURES)
        return {kinds[octave]: 1.0} if 0 <= octave < len(kinds) else {}


class Null:
    """Nothing fails (0 %): whatever a campaign finds here, it made up."""

    name = "null"

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:  # noqa: ARG002
        """Return no hazard."""
        return {}
