"""Reports and pictures: everything that was asked for is there, nothing is fetched, simulated data say so."""

import base64
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from cubisect.drivers.fault_models import MODELS
from cubisect.isolation.resolve import Resolved
from cubisect.report import plots
from cubisect.report.pages import MOST_MARKDOWN, Report
from cubisect.search.explore import NewRequest, new_campaign, run_on
from cubisect.search.machine import Machine
from cubisect.space import Space
from cubisect.store import Campaign, Store
from support.inprocess import InProcessEngine

DEVICE = {"name": "A Model", "uuid": "GPU-private", "pci_bus_id": "private", "vbios": "96"}
ENVIRONMENT: Mapping[str, Any] = {"driver": {"driver": "sim", "devices": [DEVICE]}, "host": {"hostname": "private"}}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Campaign, pd.DataFrame]:
    store = Store.open(str(tmp_path_factory.mktemp("report") / "x.sqlite"), create=True)
    space = Space.of(max_submitted_descriptors=1 << 20)
    request = NewRequest(space=space, driver="sim:vllm-49276", budget=60, seed=1, sampler="sobol", name="demo")
    campaign = new_campaign(store, request, Resolved(name=request.driver, simulated=True, environment=ENVIRONMENT))
    run_on(store, campaign, InProcessEngine(MODELS["vllm-49276"]()), Machine(controls=False))
    frame = store.frame(campaign)
    store.close()
    return campaign, frame


def test_page_is_complete_and_self_contained(recorded: tuple[Campaign, pd.DataFrame]) -> None:
    campaign, frame = recorded
    page = Report(campaign, frame, files={"reproduce.c": "int main(void) { return a < b; }"}).html()
    parts = (
        "Environment", "What was asked", "Outcomes", "Failure map", "Where it fails", "Is it monotone?", "Control",
        "The open questions", "Limits of this evidence", "reproduce.c",
    )  # fmt: skip
    for part in parts:
        assert f">{part}" in page
    assert page.count("<use ") > len(frame[frame["outcome"] != "ok"])
    assert "SIMULATED" in page
    assert "return a &lt; b;" in page
    assert "private" not in page
    assert "prefers-color-scheme: dark" in page
    assert page.count("data:image/png;base64,") >= 2
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    assert set(re.findall(r'href="#([\w-]+)"', page)) <= set(re.findall(r'id="([\w-]+)"', page))


def test_markdown_says_the_same(recorded: tuple[Campaign, pd.DataFrame]) -> None:
    campaign, frame = recorded
    report = Report(campaign, frame, files={"reproduce.c": "int main(void) { return a < b; }"})
    text = report.markdown()
    assert "**SIMULATED.**" in text
    assert "```c\nint main(void) { return a < b; }" in text
    assert "private" not in text
    for answer in report.analysis.answers:
        assert answer.question in text


def test_markdown_leaves_out_a_listing_that_no_bug_tracker_would_take(recorded: tuple[Campaign, pd.DataFrame]) -> None:
    campaign, frame = recorded
    text = Report(campaign, frame, files={"reproduce.c": "x" * MOST_MARKDOWN}).markdown()
    assert len(text) < MOST_MARKDOWN
    assert "xxx" not in text
    assert "attach the file that\n`bisect reproduce demo/NUMBER -o case` writes" in text
    assert "## Limits of this evidence" in text


def test_page_offers_the_listing_as_a_file(recorded: tuple[Campaign, pd.DataFrame]) -> None:
    campaign, frame = recorded
    page = Report(campaign, frame, files={"reproduce.c": "int main(void) { return a < b; }"}).html()
    found = re.search(r'download="reproduce.c" href="data:text/plain;base64,([^"]+)"', page)
    assert found
    assert base64.b64decode(found.group(1)) == b"int main(void) { return a < b; }"


def test_pictures_are_drawn_and_watermarked(recorded: tuple[Campaign, pd.DataFrame]) -> None:
    _, frame = recorded
    for figure in (plots.failure_map(frame), plots.outcomes_by(frame)):
        assert all(any(text.get_text() == "SIMULATED" for text in panel.texts) for panel in figure.axes)
        assert plots.png(figure).startswith(b"\x89PNG")
    real = frame.copy()
    real.attrs = {**frame.attrs, "simulated": False}
    assert not any(text.get_text() == "SIMULATED" for panel in plots.failure_map(real).axes for text in panel.texts)


def test_interactive_map_needs_no_network(recorded: tuple[Campaign, pd.DataFrame]) -> None:
    page = plots.interactive_map(recorded[1])
    assert "SIMULATED" in page
    assert not re.search(r"<script[^>]* src=", page)


def test_every_failure_has_its_own_look() -> None:
    looks = list(plots.LOOKS.values())
    for part in ("colour", "marker", "symbol"):
        assert len({getattr(look, part) for look in looks}) == len(looks)
