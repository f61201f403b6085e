"""The failure map as a picture: where on the page each cell lies, what it says, and where it leads."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cubisect.outcome import Outcome
from cubisect.service.failure_map import Cell, FailureMap, View

GLYPHS: Mapping[str, str] = {
    Outcome.OK: "✓",
    Outcome.ERROR: "E",
    Outcome.SEGFAULT: "S",
    Outcome.HANG: "H",
    Outcome.ASYNC_ERROR: "A",
    Outcome.CORRUPT: "C",
    Outcome.CRASH: "X",
    Outcome.INCONCLUSIVE: "?",
}
"""One letter for each outcome, so that none is told by colour alone."""

CELL = 22.0
LEFT, TOP, RIGHT_MARGIN, BOTTOM_MARGIN = 84.0, 26.0, 24.0, 52.0

SMALLEST_MARK = 0.62
"""Side of the mark of a single trial, in cells: still large enough for its letter."""

ZOOM = 0.3
"""A click on a cell shows this part of the view around it."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One cell. `kind` is its style; `zooms` says that `url` is another view of the same map."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    glyph: str
    label: str
    url: str
    zooms: bool

    @property
    def middle(self) -> float:
        """Where the letter is centred."""
        return self.x + self.width / 2

    @property
    def baseline(self) -> float:
        """Where the letter stands."""
        return self.y + self.height / 2 + 4.5


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """The whole picture, in units of the SVG's view box."""

    plot_width: float
    plot_height: float
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    marks: Sequence[Mark]
    left: float = LEFT
    top: float = TOP

    @property
    def right(self) -> float:
        """Right end of the plot."""
        return self.left + self.plot_width

    @property
    def bottom(self) -> float:
        """Lower end of the plot."""
        return self.top + self.plot_height

    @property
    def width(self) -> float:
        """Width of the picture."""
        return self.right + RIGHT_MARGIN

    @property
    def height(self) -> float:
        """Height of the picture."""
        return self.bottom + BOTTOM_MARGIN


def draw(map_: FailureMap, *, view_url: Callable[[View], str], trial_url: Callable[[int], str]) -> Drawing:
    """Return the picture of a map; the two functions say where a view and a trial are found."""
    width, height = map_.columns * CELL, map_.rows * CELL
    view = map_.view

    def across(x: float) -> float:
        return LEFT + (x - view.x_low) / (view.x_high - view.x_low) * width

    def up(y: float) -> float:
        return TOP + (view.y_high - y) / (view.y_high - view.y_low) * height

    most = max((cell.total for cell in map_.cells), default=1)
    return Drawing(
        plot_width=width,
        plot_height=height,
        x_ticks=[(across(x), map_.x.text(x)) for x in map_.x.ticks(view.x_low, view.x_high)],
        y_ticks=[(up(y), map_.y.text(y)) for y in map_.y.ticks(view.y_low, view.y_high)],
        marks=[_mark(map_, cell, most, view_url, trial_url) for cell in map_.cells],
    )


def _mark(
    map_: FailureMap, cell: Cell, most: int, view_url: Callable[[View], str], trial_url: Callable[[int], str]
) -> Mark:
    side = CELL * _relative_side(cell.total, most)
    x = LEFT + (cell.column + 0.5) * CELL - side / 2
    y = TOP + (map_.rows - cell.row - 0.5) * CELL - side / 2
    return Mark(
        x=round(x, 1),
        y=round(y, 1),
        width=round(side, 1),
        height=round(side, 1),
        kind=_kind(cell),
        glyph="" if cell.worst is Outcome.OK else GLYPHS[cell.worst],
        label=_label(map_, cell),
        url=trial_url(cell.only) if cell.only is not None else view_url(_closer(map_, cell)),
        zooms=cell.only is None,
    )


def _closer(map_: FailureMap, cell: Cell) -> View:
    """Return the view to which a click leads: the cell alone when its trials share one point."""
    bounds = map_.bounds(cell)
    return bounds if cell.one_point else map_.view.around(*bounds.centre, ZOOM)


def _relative_side(total: int, most: int) -> float:
    if most <= 1:
        return 0.8
    return SMALLEST_MARK + (0.96 - SMALLEST_MARK) * math.log(total) / math.log(most)


def _kind(cell: Cell) -> str:
    """Return the style of a cell: by the share of its conclusive trials that failed."""
    conclusive = cell.total - cell.counts.get(Outcome.INCONCLUSIVE, 0)
    if not conclusive:
        return "inconclusive"
    if not cell.failing:
        return "ok"
    share = cell.failing / conclusive
    return "fail-4" if share == 1 else f"fail-{1 + (share > 0.25) + (share > 0.5)}"


def _label(map_: FailureMap, cell: Cell) -> str:
    x, y = map_.bounds(cell).centre
    counts = ", ".join(f"{count} {outcome}" for outcome, count in cell.counts.items())
    what = f"trial {cell.only}" if cell.only is not None else f"{cell.total} trials"
    return f"{what}: {counts}; {map_.x.name} about {map_.x.text(x)}, {map_.y.name} about {map_.y.text(y)}"
