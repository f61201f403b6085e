"""The HTTP API and the pages over recorded campaigns."""

import csv
import io
import json
import re
import time
import zipfile
from pathlib import Path

import httpx
import pytest

from cubisect.outcome import FAILURES
from cubisect.reproduce.case import read_case
from cubisect.service.app import create_app
from cubisect.service.failure_map import QUANTITIES
from service.conftest import TOKEN, Running, Serve


def test_campaigns_the_latest_first(server: Running) -> None:
    listed = server.reader.get("/api/campaigns").json()
    names = [campaign["name"] for campaign in listed]
    assert names[-3:] == ["open", "other", "band"]
    band = listed[-1]
    assert (band["done"], band["budget"], band["complete"], band["simulated"]) == (300, 300, True, True)
    assert sum(band["outcomes"].values()) == 300
    assert band["outcomes"]["ok"] > band["outcomes"]["hang"] > 0


def test_one_campaign(server: Running) -> None:
    campaign = server.reader.get("/api/campaigns/other").json()
    assert campaign["environment"]["gpu"] == "another"
    assert "descriptor_count" in campaign["space"]["varied"]
    assert campaign["running_here"] is False


@pytest.mark.parametrize(
    "path",
    [
        "/api/campaigns/none",
        "/api/campaigns/none/map",
        "/api/campaigns/none/trials",
        "/api/campaigns/none/events",
        "/api/campaigns/band/trials/301",
        "/api/campaigns/..%2F..%2Fetc%2Fpasswd",
        "/api/campaigns/band'; DROP TABLE trials; --",
        "/campaigns/none",
        "/campaigns/none/trials.csv",
        "/campaigns/band/trials/0",
        "/nowhere",
    ],
)
def test_what_there_is_not(server: Running, path: str) -> None:
    answer = server.reader.get(path)
    assert answer.status_code == 404
    assert ("detail" in answer.json()) if path.startswith("/api/") else ("Not found" in answer.text)


def test_trials_by_outcome(server: Running) -> None:
    found = server.reader.get("/api/campaigns/band/trials", params={"outcome": ["segfault", "hang"], "limit": 7}).json()
    assert len(found) == 7
    assert {trial["outcome"] for trial in found} <= {"segfault", "hang"}
    assert [t["number"] for t in found] == sorted((t["number"] for t in found), reverse=True)
    assert found[0]["point"]["direction"] == "h2d"


def test_one_trial(server: Running) -> None:
    trial = server.reader.get("/api/campaigns/band/trials/5").json()
    assert trial["trial"] == "band/5"
    assert trial["replay"] == "bisect replay band/5 --times 20"
    assert trial["features"]["submitted_descriptors"] == trial["point"]["descriptor_count"]


@pytest.mark.parametrize(
    "query",
    [{}, {"x": "mean_size", "y": "repetition"}, {"x": "direction", "y": "size_spread"}]
    + [{"x": name} for name in sorted(QUANTITIES)[::6]],
)
def test_map_counts_every_trial(server: Running, query: dict[str, str]) -> None:
    drawn = server.reader.get("/api/campaigns/band/map", params=query).json()
    assert drawn["simulated"] is True
    assert drawn["trials"] == sum(cell["total"] for cell in drawn["cells"]) == 300
    listed = server.reader.get("/api/campaigns/band").json()["outcomes"]
    failing = sum(count for outcome, count in listed.items() if outcome in FAILURES)
    assert sum(cell["failing"] for cell in drawn["cells"]) == failing


def test_map_of_a_view(server: Running) -> None:
    whole = server.reader.get("/api/campaigns/band/map").json()["view"]
    half = {**whole, "x_high": (whole["x_low"] + whole["x_high"]) / 2}
    drawn = server.reader.get("/api/campaigns/band/map", params=half).json()
    assert 0 < drawn["trials"] < 300
    assert drawn["trials"] + drawn["outside"] == 300
    assert drawn["view"] == pytest.approx(half)


@pytest.mark.parametrize(
    "query",
    [
        "x=signature",
        "x_low=1",
        "x_low=2&x_high=1&y_low=0&y_high=1",
        "x_low=nan&x_high=1&y_low=0&y_high=1",
        "x_low=-inf&x_high=inf&y_low=0&y_high=1",
        "x_low=0&x_high=1e300&y_low=0&y_high=1",
        "unknown=1",
    ],
)
def test_impossible_views_are_refused(server: Running, query: str) -> None:
    for path in ("/api/campaigns/band/map", "/campaigns/band"):
        answer = server.reader.get(f"{path}?{query}")
        assert answer.status_code == 422
    assert "That did not work" in answer.text


def test_events_end_when_the_campaign_is_complete(server: Running) -> None:
    with server.reader.stream("GET", "/api/campaigns/band/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        text = "".join(answer.iter_text())
    events = [block.split("\n") for block in text.strip().split("\n\n")]
    assert [lines[0] for lines in events] == ["event: progress", "event: end"]
    assert json.loads(events[0][1].removeprefix("data: "))["done"] == 300


def test_events_go_on_while_there_is_budget(server: Running) -> None:
    with server.reader.stream("GET", "/api/campaigns/open/events") as answer:
        first = next(answer.iter_text())
    assert '"done":20' in first
    assert "event: end" not in first


def test_event_streams_are_limited(database: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cubisect.service.context.MAX_FOLLOWERS", 1)
    server = serve(create_app(str(database), TOKEN))  # its own: streams that other tests closed may linger
    events = "/api/campaigns/open/events"
    with server.reader.stream("GET", events) as first:
        reading = first.iter_text()  # kept: an iterator that is dropped closes the stream
        next(reading)
        with server.program.stream("GET", events) as refused:  # a stream that is not refused never ends
            assert (refused.status_code, "1 event streams are open" in _detail(refused)) == (503, True)
        assert server.program.get("/api/campaigns/open").status_code == 200
    assert any(_is_followed(server, events) for _ in range(50))


def _detail(problem: httpx.Response) -> str:
    assert problem.status_code != 200
    problem.read()
    return str(problem.json()["detail"])


def _is_followed(server: Running, events: str) -> bool:
    """Try once more; a stream notices within a second that its reader has gone."""
    time.sleep(0.1)
    with server.program.stream("GET", events) as answer:
        return answer.status_code == 200


def test_pages_of_a_simulated_campaign_say_so(server: Running) -> None:
    for path in ("/", "/campaigns/band", "/campaigns/band/trials/5", "/compare?a=band&b=other"):
        assert "SIMULATED" in server.reader.get(path).text, path


def test_what_is_recorded_cannot_become_markup(server: Running) -> None:
    text = server.reader.get("/campaigns/band/trials/5").text
    assert "&lt;b&gt;in&lt;/b&gt; submit" in text
    assert "<b>in</b>" not in text


def test_campaign_page_links_to_its_failing_trials(server: Running) -> None:
    failing = server.reader.get(
        "/api/campaigns/band/trials", params={"outcome": sorted(FAILURES), "limit": 1000}
    ).json()
    text = server.reader.get("/campaigns/band").text
    for trial in failing[:50]:
        assert f'href="/campaigns/band/trials/{trial["number"]}"' in text
    assert "data-events" not in text  # complete: nothing to follow
    assert "data-events" in server.reader.get("/campaigns/open").text


def test_controls_of_the_page_are_for_those_who_signed_in(server: Running) -> None:
    assert "<button>Resume</button>" in server.person.get("/campaigns/open").text
    assert "<button>Resume</button>" not in server.reader.get("/campaigns/open").text
    assert server.form_token not in server.reader.get("/campaigns/open").text
    assert "sign in" in server.reader.get("/start").text


def test_csv(server: Running) -> None:
    answer = server.reader.get("/campaigns/band/trials.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="band.csv"'
    rows = list(csv.DictReader(answer.text.splitlines()))
    assert {row["simulated"] for row in rows} == {"True"}
    assert len(rows) == 300
    assert rows[0]["number"] == "1"


def test_compare(server: Running) -> None:
    text = server.reader.get("/compare", params={"a": "band", "b": "other"}).text
    assert "all explored points" in text
    assert "another" in text  # the GPU differs
    assert "segfault in submit" in text
    assert server.reader.get("/compare", params={"a": "band", "b": "none"}).status_code == 404


def test_a_form_with_mistakes_is_shown_again(server: Running) -> None:
    fields = {"form_token": server.form_token, "name": "mine", "fix": "direction=up", "driver": "cuda"}
    answer = server.person.post("/start", data=fields)
    assert answer.status_code == 422
    assert "direction: &#39;up&#39; is not allowed; allowed are h2d, d2h" in answer.text
    assert 'value="mine"' in answer.text


def test_a_name_that_is_taken(server: Running) -> None:
    answer = server.program.post("/api/campaigns", json={"name": "band"})
    assert (answer.status_code, answer.json()["detail"].startswith("there is a campaign band already")) == (409, True)


def test_openapi_names_every_route_of_the_api(server: Running) -> None:
    schema = server.reader.get("/openapi.json").json()
    assert "/api/campaigns/{name}/map" in schema["paths"]
    assert all(path.startswith("/api/") for path in schema["paths"])


def test_an_unknown_method(server: Running) -> None:
    assert httpx.delete(f"{server.url}/api/campaigns/band").status_code == 405


def test_reproducer(server: Running, tmp_path: Path) -> None:
    found = server.reader.get("/api/campaigns/band/trials", params={"outcome": "segfault", "limit": 1}).json()[0]
    path = f"/campaigns/band/trials/{found['number']}/reproducer.zip"
    assert f'href="{path}"' in server.reader.get(path.removesuffix("/reproducer.zip")).text
    answer, again = server.reader.get(path), server.reader.get(path)
    assert answer.content == again.content
    assert answer.headers["content-type"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    folder = f"band-{found['number']}"
    assert {f"{folder}/case.json", f"{folder}/reproduce.c"} <= set(archive.namelist())
    (tmp_path / "case.json").write_bytes(archive.read(f"{folder}/case.json"))
    case = read_case(tmp_path / "case.json")
    assert case.simulated
    assert case.spec.point.values() == found["point"]


def test_a_trial_that_passed_has_no_reproducer_on_its_page(server: Running) -> None:
    found = server.reader.get("/api/campaigns/band/trials", params={"outcome": "ok", "limit": 1}).json()[0]
    assert "reproducer.zip" not in server.reader.get(f"/campaigns/band/trials/{found['number']}").text


@pytest.mark.parametrize(("kind", "media_type"), [("html", "text/html"), ("md", "text/markdown")])
def test_report(server: Running, kind: str, media_type: str) -> None:
    answer = server.reader.get(f"/campaigns/band/report.{kind}")
    assert answer.headers["content-type"].startswith(media_type)
    assert answer.headers["content-disposition"] == f'attachment; filename="band-report.{kind}"'
    assert "sim:band" in answer.text
    assert "simulated" in answer.text.lower()
    assert server.reader.get(f"/campaigns/none/report.{kind}").status_code == 404


def test_a_backtrace_keeps_its_lines(server: Running) -> None:
    found = server.reader.get("/api/campaigns/band/trials", params={"outcome": "segfault", "limit": 1}).json()[0]
    text = server.reader.get(f"/campaigns/band/trials/{found['number']}").text
    assert re.search(r'<dt>(.+)</dt><dd><pre tabindex="0" aria-label="\1">Fatal error\n  File &lt;b&gt;\na line', text)
