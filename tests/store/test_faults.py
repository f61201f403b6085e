"""A database that fails in the middle of a campaign: one clear line, nothing recorded is lost, and one can go on."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event, func, select

from cubisect.drivers.fault_models import MODELS
from cubisect.engines.base import Completed
from cubisect.errors import StoreError
from cubisect.outcome import Outcome, classify
from cubisect.search.campaign import AHEAD
from cubisect.search.explore import run_on
from cubisect.search.machine import Machine
from cubisect.store import Campaign, Plan, Result, Store
from cubisect.store.models import EnvironmentRow
from cubisect.trial import BUDGETED, Purpose, TrialSpec
from support.campaigns import new_campaign
from support.inprocess import InProcessEngine, enacted
from support.postgres import NoServerError, Server, running_server


def begin(store: Store, campaign: Campaign) -> int:
    begun = store.begin_trial(campaign, Plan(spec=TrialSpec(seed=3), purpose=Purpose.SEARCH))
    assert begun is not None
    return begun.number


def begin_for_ever(store: Store, campaign: Campaign) -> None:
    """Begin trials until it fails: a full disk still has what is left of the last page."""
    while True:
        begin(store, campaign)


def sqlite_says(store: Store, *pragmas: str) -> None:
    """Let every connection of the store from now on have these settings."""

    def configure(connection: sqlite3.Connection, _: object) -> None:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    event.listen(store.engine, "connect", configure)
    store.engine.dispose()


FULL, READ_ONLY, LOCKED = "max_page_count=1", "query_only=ON", "busy_timeout=20"


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(str(tmp_path / "trials.sqlite"), create=True)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("pragma", "told"),
    [
        (FULL, "cannot be written: database or disk is full; make room, then .*--resume"),
        (READ_ONLY, "cannot be written: attempt to write a readonly database; allow writing to the file"),
    ],
)
def test_a_file_that_takes_no_more_is_one_line(file: Store, pragma: str, told: str) -> None:
    campaign = file.create_campaign(new_campaign(budget=10_000))
    number = begin(file, campaign)
    sqlite_says(file, pragma)
    with pytest.raises(StoreError, match=rf"trials\.sqlite: {told}") as raised:
        begin_for_ever(file, campaign)
    assert "\n" not in str(raised.value)
    assert file.trial(str(number)).state == "running", "what was written can still be read"


def test_a_file_that_another_program_holds_is_one_line(file: Store, tmp_path: Path) -> None:
    campaign = file.create_campaign(new_campaign())
    sqlite_says(file, LOCKED)
    holder = sqlite3.connect(tmp_path / "trials.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="database is locked; end the program that holds it"):
        begin(file, campaign)
    holder.execute("ROLLBACK")
    holder.close()
    assert begin(file, campaign) == 1


def test_a_campaign_goes_on_when_there_is_room_again(file: Store, tmp_path: Path) -> None:
    campaign = file.create_campaign(replace(new_campaign(budget=30), driver="sim:band"))

    def fills_up(completed: Completed) -> Completed:
        if completed.key == 12:
            sqlite_says(file, READ_ONLY)
        return completed

    with pytest.raises(StoreError, match="cannot be written"):
        run_on(file, campaign, InProcessEngine(MODELS["band"](), disturb=fills_up), Machine())
    later = Store.open(str(tmp_path / "trials.sqlite"), owner="a:2:2")
    done = [record.number for record in later.trials(campaign) if record.state == "done"]
    assert done == list(range(1, 12))
    assert later.give_back(campaign) == 0, "only its own"
    file.engine.dispose()
    later.owner = file.owner  # the same process, so what it left is given back
    assert later.give_back(campaign) == 1 + AHEAD
    assert run_on(later, campaign, InProcessEngine(MODELS["band"]()), Machine(controls=False)).budget == 30
    kept = [record for record in later.trials(campaign) if record.purpose in BUDGETED]
    assert len(kept) == 30
    later.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    try:
        with running_server(tmp_path / "server") as running:
            yield running
    except NoServerError as error:
        pytest.skip(str(error))


def test_a_server_that_goes_away_is_one_line_and_the_campaign_goes_on_when_it_is_back(server: Server) -> None:
    url = server.create("trials").replace("bisect@", "bisect:secret@")
    first = Store.open(url, create=True, owner="a:1:1")
    campaign = first.create_campaign(replace(new_campaign(budget=20), driver="sim:band"))

    def stops(completed: Completed) -> Completed:
        if completed.key == 9:
            server.stop()
        return completed

    engine = InProcessEngine(MODELS["band"](), disturb=stops)
    with pytest.raises(StoreError, match=r"cannot be written: .*see that the server runs.*--resume NAME") as raised:
        run_on(first, campaign, engine, Machine(controls=False))
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)
    assert engine.closed
    with pytest.raises(StoreError, match="cannot be read"):
        first.trials(campaign)
    server.start()
    first.give_back(campaign)  # unless the crash took the last trial with it
    progress = run_on(first, campaign, InProcessEngine(MODELS["band"]()), Machine(controls=False))
    records = first.trials(campaign)
    assert len(records) == 20
    assert sorted(record.finished or 0 for record in records) == list(range(1, 21))
    assert progress.budget == 20
    first.close()


def test_a_connection_that_has_died_in_the_meantime_is_replaced(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(server.create("trials"), create=True)
    campaign = store.create_campaign(new_campaign())
    server.stop()
    server.start()
    monkeypatch.setattr("cubisect.store.database.IDLE_S", 0.0)
    assert begin(store, campaign) == 1
    store.close()


def at_once(count: int, work: Callable[[int], object]) -> list[BaseException]:
    """Do the work in so many threads at the same moment; return what they raised."""
    raised: list[BaseException] = []
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001  (it is what the test asks for)
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_an_environment_is_recorded_once_by_many_at_once(url: str) -> None:
    stores = [Store.open(url, create=True) for _ in range(4)]
    assert at_once(4, lambda number: stores[number].create_campaign(new_campaign(f"c{number}"))) == []
    with stores[0].engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(EnvironmentRow)).scalar() == 1
    for store in stores:
        store.close()


def test_a_lost_trial_leaves_no_gap_in_the_order_of_finishing(store: Store, campaign: Campaign) -> None:
    evidence = enacted(Outcome.OK)
    result = Result(evidence=evidence, verdict=classify(evidence))
    given_up = begin(store, campaign)
    store.give_back(campaign)
    assert store.finish_trial(campaign, given_up, result).finished is None
    assert store.finish_trial(campaign, begin(store, campaign), result).finished == 1
