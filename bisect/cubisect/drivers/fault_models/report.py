"""The fault model of the public report vLLM #49276, the truth behind the default simulated campaign."""

from collections.abc import Mapping

from cubisect.drivers.fault_models.traits import Manner, bytes_of, count_of, count_per_call
from cubisect.outcome import Outcome
from cubisect.space import MIB
from cubisect.trial import TrialSpec


class Vllm49276:
    """The two shapes of the report and one plain refusal; shares are of the default space.

    * **segfault**, always: more than 46,000 descriptors in one call, 32 MiB or more in all, host to device (8.1 %).
      The reported batch of 51,828 descriptors lies here; cutting it into calls of 46,000 or fewer avoids it.
    * **hang**, 4 times in 5, spinning in the third submission: 12,000 to 30,000 descriptors in one call, 4 MiB or
      more in all, repetition 3 or more, host memory that is not pageable (2.8 %). The reported 19,634 descriptors
      lie here; 20,000 × 128 B (2.4 MiB) do not.
    * **error**, always: `CUDA_ERROR_INVALID_VALUE` with the index of the first descriptor, where the mean size is
      64 MiB or more (4.7 %). The report knows no such answer; the region is here so that a campaign on this model
      meets all four outcomes.
    """

    name = "vllm-49276"

    def hazards(self, trial: TrialSpec) -> Mapping[Outcome, float]:
        """Return the truth about `trial`; the three regions do not overlap."""
        count, total = count_per_call(trial), bytes_of(trial)
        if total >= 64 * MIB * count_of(trial):
            return {Outcome.ERROR: 1.0}
        if count > 46_000 and total >= 32 * MIB and trial.direction == "h2d":
            return {Outcome.SEGFAULT: 1.0}
        if 12_000 <= count <= 30_000 and total >= 4 * MIB and trial.repetition >= 3 and trial.host_memory != "pageable":
            return {Outcome.HANG: 0.8}
        return {}

    def manner(self, trial: TrialSpec, outcome: Outcome) -> Manner:  # noqa: ARG002  (the same at every point)
        """Return that a hang strikes in the third submission, everything else in the first."""
        return Manner(repetition=3) if outcome is Outcome.HANG else Manner(fail_index=0)
