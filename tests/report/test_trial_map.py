"""The map of a report: every failing trial where it belongs, told by shape and words; what is left out is told."""

import pandas as pd

from cubisect.analysis.rates import Rate, Sample
from cubisect.analysis.rules import Condition, Rule
from cubisect.features import FEATURES
from cubisect.outcome import Outcome
from cubisect.report.text_grid import text_grid
from cubisect.report.trial_map import BOTTOM, EDGE, HEIGHT, LEFT, MOST_MARKS, SHAPES, WIDTH, trial_map
from cubisect.space import Point


def frame_of(counts: list[int], outcomes: list[str]) -> pd.DataFrame:
    """Return search trials of 512 bytes a copy with these counts and outcomes."""
    search = {"purpose": "search", "origin": "explore", "method": "batch", "tainted": False}
    defaults = {**dict.fromkeys(FEATURES, 0), **Point().values(), **search}
    sizes = [{"descriptor_count": count, "total_bytes": 512 * count} for count in counts]
    submitted = [{"submitted_descriptors": count, "submitted_bytes": 512 * count} for count in counts]
    rows = pd.DataFrame([{**defaults, **size, **work} for size, work in zip(sizes, submitted, strict=True)])
    return rows.assign(
        outcome=outcomes, number=range(1, len(rows) + 1), mean_size=512.0, signature_title=None, parent=None
    )


def test_marks_lie_within_the_panel_in_the_order_of_their_values() -> None:
    counts = [1, 10, 100, 1000, 10_000]
    panel = trial_map(frame_of(counts, ["ok", "ok", "ok", "segfault", "hang"])).panels[0]
    marks = sorted(panel.marks, key=lambda mark: mark.trial)
    assert [m.x for m in marks] == sorted(m.x for m in marks)
    assert [m.y for m in marks] == sorted((m.y for m in marks), reverse=True)
    assert all(LEFT <= m.x <= WIDTH - EDGE and EDGE <= m.y <= HEIGHT - BOTTOM for m in marks)
    assert [m.outcome for m in panel.marks][-2:] == ["segfault", "hang"]  # drawn over those that pass
    assert "trial 4: segfault; 1,000 copies, 500 KiB, submitted 1 time, uniform 0 (search)" in {m.text for m in marks}


def test_only_what_is_told_is_left_out() -> None:
    many = MOST_MARKS + 500
    found = trial_map(frame_of(list(range(1, many + 3)), ["ok"] * many + ["hang", "hang"]))
    legend = {entry.outcome: entry for entry in found.legend}
    assert (legend["ok"].trials, legend["ok"].left_out) == (many, 500)
    assert (legend["hang"].trials, legend["hang"].left_out) == (2, 0)
    assert len(found.panels[0].marks) == MOST_MARKS + 2


def test_a_rule_is_a_box_around_its_trials() -> None:
    rate = Rate.of("x", 1, 1, Sample.GIVEN)
    condition = Condition(name="descriptor_count", low=900.0)
    rule = Rule(kind="segfault", conditions=(condition,), rate=rate, support=1, hits=1, confirmed=True)
    panel = trial_map(frame_of([1, 10, 100, 1000, 10_000], ["ok", "ok", "ok", "segfault", "segfault"]), [rule]).panels[
        0
    ]
    (box,) = panel.boxes
    inside = {
        m.outcome for m in panel.marks if box.x <= m.x <= box.x + box.width and box.y <= m.y <= box.y + box.height
    }
    assert inside == {"segfault"}


def test_nothing_varied_is_no_map() -> None:
    assert trial_map(frame_of([5, 5], ["ok", "ok"])).panels == []
    assert text_grid(frame_of([5, 5], ["ok", "ok"])) is None


def test_every_outcome_has_its_own_shape() -> None:
    assert len(set(SHAPES.values())) == len(SHAPES) == len(Outcome) - 1


def test_text_grid_counts_every_trial_once() -> None:
    grid = text_grid(frame_of([1, 10, 100, 1000, 1001], ["ok", "ok", "ok", "segfault", "ok"]))
    assert grid is not None
    cells = [cell.split("/") for _, row in grid.rows for cell in row if cell]
    assert sum(int(total) for _, total in cells) == 5
    assert sum(int(failures) for failures, _ in cells) == 1
