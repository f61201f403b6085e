"""Correction for asking several questions of the same trials."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's step-down corrected p-values (S. Holm, *Scand. J. Statist.* 6, 1979), in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [1.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min((len(p_values) - rank) * p_values[index], 1.0))
        corrected[index] = running
    return corrected
