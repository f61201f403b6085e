"""Arrays of integers as short C text: a loop where the numbers follow a rule, runs where they repeat, else a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cubisect.batch import Int64

LONGEST_CYCLE = 8
"""Longest repeating pattern that is looked for: alternating sizes, or a few per block."""

SHORT_RUNS = 64
"""So many runs still read as a list of runs, whatever the length of the array."""

LINE_WIDTH = 96


@dataclass(frozen=True)
class Table:
    """A constant array: its C type, its declaration without initialiser, and the lines of the initialiser."""

    type: str
    declaration: str
    lines: Sequence[str]


@dataclass(frozen=True)
class CArray:
    """The statements that fill an array called `name`, and the tables that they read."""

    statements: Sequence[str]
    tables: Sequence[Table] = field(default_factory=tuple)


def fill(name: str, values: Int64) -> CArray:
    """Return C that fills the array `name` with exactly these values, by the shortest of the ways above."""
    cycle = _cycle(values)
    if cycle is not None:
        return CArray([_cyclic(name, cycle)])
    step = _step(values)
    if step is not None:
        start = int(values[0])
        term = f"{start} + {step} * (long long)i" if start else f"{step} * (long long)i"
        return CArray([f"for (size_t i = 0; i < COUNT; i++) {name}[i] = {term};"])
    if name == "size" and _evenly_shared(values):
        base, extra = int(values.min()), int(values.sum() - len(values) * values.min())
        share = f"((i + 1) * {extra} + COUNT - 1) / COUNT - (i * {extra} + COUNT - 1) / COUNT"
        loop = "for (size_t i = 0; i < COUNT; i++) /* as equal as can be */"
        return CArray([loop, f"    {name}[i] = {base} + {share};"])
    starts = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    if len(starts) <= SHORT_RUNS or 3 * len(starts) <= len(values):
        return _runs(name, values, starts)
    table = _table(f"{name}_table[COUNT]", values)
    return CArray([f"for (size_t i = 0; i < COUNT; i++) {name}[i] = {name}_table[i];"], [table])


def fill_offsets(name: str, offsets: Int64, sizes: Int64, placings: Sequence[tuple[int, int]]) -> CArray:
    """Return C that fills `name` with offsets, as one copy after the other where they lie so.

    `placings` are pairs (alignment, gap) under which they may lie one after the other, likely ones first.
    """
    for alignment, gap in placings:
        slots = -(-(sizes + gap) // alignment) * alignment
        if np.array_equal(offsets, np.cumsum(slots) - slots):
            slot = f"size[i] + {gap}" if gap else "size[i]"
            slot = f"({slot} + {alignment - 1}) / {alignment} * {alignment}" if alignment > 1 else slot
            return CArray([f"for (size_t i = 0, at = 0; i < COUNT; at += {slot}, i++)", f"    {name}[i] = at;"])
    return fill(name, offsets)


def _cycle(values: Int64) -> list[int] | None:
    """Return the shortest pattern that the values repeat, None when there is no short one."""
    for length in range(1, min(LONGEST_CYCLE, len(values) // 2 or 1) + 1):
        if np.array_equal(values, np.resize(values[:length], len(values))):
            return [int(value) for value in values[:length]]
    return None


def _cyclic(name: str, cycle: Sequence[int]) -> str:
    if len(cycle) == 1:
        return f"for (size_t i = 0; i < COUNT; i++) {name}[i] = {cycle[0]};"
    listed = ", ".join(str(value) for value in cycle)
    return f"for (size_t i = 0; i < COUNT; i++) {name}[i] = (size_t[]){{{listed}}}[i % {len(cycle)}];"


def _step(values: Int64) -> int | None:
    """Return the difference of an arithmetic sequence, None where it is none."""
    steps = np.diff(values)
    return int(steps[0]) if len(steps) and (steps == steps[0]).all() else None


def _evenly_shared(values: Int64) -> bool:
    """Tell whether the values are a total shared out, the remainder as one more at even distances."""
    count, extra = len(values), int(values.sum() - len(values) * values.min())
    if extra >= count:
        return False
    more = np.zeros(count, dtype=np.int64)
    more[np.arange(extra) * count // max(extra, 1)] = 1
    return bool(np.array_equal(values, values.min() + more))


def _runs(name: str, values: Int64, starts: Int64) -> CArray:
    lengths = np.diff(np.append(starts, len(values)))
    pairs = [f"{{{length}, {value}}}" for length, value in zip(lengths.tolist(), values[starts].tolist(), strict=True)]
    loop = [
        "for (size_t i = 0, k = 0; i < COUNT; k++)",
        f"    for (size_t n = {name}_runs[k][0]; n--; i++) {name}[i] = {name}_runs[k][1];",
    ]
    if len(pairs) <= SHORT_RUNS // 4:
        head = f"static const size_t {name}_runs[][2] = {{ /* so many copies, of so many bytes */"
        return CArray([head, *(f"    {line}" for line in wrapped(pairs, LINE_WIDTH - 8)), "};", *loop])
    return CArray(loop, [Table("size_t", f"{name}_runs[{len(pairs)}][2]", wrapped(pairs))])


def _table(declaration: str, values: Int64) -> Table:
    wide = int(values.max()) >= 1 << 32
    return Table("unsigned long long" if wide else "unsigned", declaration, wrapped([str(v) for v in values.tolist()]))


def wrapped(items: Sequence[str], width: int = LINE_WIDTH) -> list[str]:
    """Return the items separated by commas, in lines of at most `width` characters."""
    lines, line = [], ""
    for item in items:
        if line and len(line) + len(item) + 2 > width:
            lines.append(line)
            line = ""
        line += f"{' ' if line else ''}{item},"
    return [*lines, line]
