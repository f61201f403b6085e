"""How long a reader of the page waits: a campaign of many trials beside one of a thousand.

    python benchmarks/page.py [--trials 100000]

Each figure is wall time of one request to a server in this process, over HTTP: the page with the map for the first
time (the trials are read), again, zoomed in, with another side (a column is read), the map as JSON, one trial. The last
column is the ratio to the small campaign.
"""

import argparse
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn

from cubisect.service.app import create_app
from cubisect.space import Space
from cubisect.store import NewCampaign, Store
from store import WRITTEN, multiply, write

ASKED = {
    "first": "/campaigns/{name}",
    "again": "/campaigns/{name}",
    "zoomed": "/campaigns/{name}?x_low=8&x_high=12&y_low=20&y_high=25&trials=all",
    "another side": "/campaigns/{name}?x=mean_size",
    "map as JSON": "/api/campaigns/{name}/map",
    "one trial": "/campaigns/{name}/trials/900",
}


def record(path: str, name: str, trials: int) -> None:
    """Record a campaign of so many trials."""
    store = Store.open(path, create=True)
    new = NewCampaign(
        name=name, driver="sim:null", simulated=True, seed=1, space=Space.default(), sampler="sobol", budget=trials
    )
    campaign = store.create_campaign(new)
    write(store, campaign)
    multiply(path, campaign, trials)
    store.close()


@contextmanager
def served(path: str) -> Iterator[httpx.Client]:
    """Serve the database, and give a client of it."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(path), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=120) as client:
        client.get("/")
        yield client
    server.should_exit = True
    thread.join()


def waits(client: httpx.Client, name: str) -> dict[str, float]:
    """Return the seconds that each request takes."""
    found = {}
    for what, path in ASKED.items():
        began = time.perf_counter()
        client.get(path.format(name=name)).raise_for_status()
        found[what] = time.perf_counter() - began
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100_000)
    trials = parser.parse_args().trials
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "trials.sqlite"))
        record(path, "small", WRITTEN)
        record(path, "large", trials)
        with served(path) as client:
            small, large = waits(client, "small"), waits(client, "large")
    print(f"{'':14} {f'{WRITTEN:,}':>10} {f'{trials:,}':>10} {'ratio':>6}")
    for what in ASKED:
        print(f"{what:14} {small[what]:8.3f} s {large[what]:8.3f} s {large[what] / small[what]:6.1f}")


if __name__ == "__main__":
    main()
