"""A campaign of 100,000 trials: the map is there within two seconds, and what follows within half of one.

Measured is the CPU time of client and server together, which on an idle machine is the time that a reader waits; unlike
that, it does not depend on what else the machine does.
"""

import time
from collections.abc import Callable

import pytest

from cubisect.service.app import create_app
from service.conftest import TOKEN, Running, Serve
from service.recorded import record_campaign

pytestmark = pytest.mark.slow

TRIALS = 100_000
FIRST_S, NEXT_S = 2.0, 0.5


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, serve: Serve) -> Running:
    path = tmp_path_factory.mktemp("large") / "bisect.sqlite"
    record_campaign(path, "large", trials=TRIALS)
    return serve(create_app(str(path), TOKEN))


def seconds(fetch: Callable[[], object]) -> float:
    started = time.process_time()
    fetch()
    return time.process_time() - started


def test_the_map_of_a_large_campaign(large: Running, record_property: Callable[[str, object], None]) -> None:
    def get(path: str) -> str:
        answer = large.reader.get(path)
        assert answer.status_code == 200
        return answer.text

    first = seconds(lambda: get("/campaigns/large"))
    again = seconds(lambda: get("/campaigns/large"))
    zoomed = seconds(lambda: get("/campaigns/large?x_low=8&x_high=12&y_low=20&y_high=25"))
    trial = seconds(lambda: get("/campaigns/large/trials/99000"))
    page = get("/campaigns/large")
    record_property("seconds", {"first": first, "again": again, "zoomed": zoomed, "trial": trial, "bytes": len(page)})
    assert f"{TRIALS:,} trials shown" in page
    assert len(page) < 500_000
    assert first < FIRST_S
    assert max(again, zoomed, trial) < NEXT_S
