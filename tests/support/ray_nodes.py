"""A real Ray cluster of several nodes on this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]


@contextmanager
def running_cluster(nodes: int, cores: int, **head: Any) -> Iterator[Any]:
    """Run a head without cores and so many nodes; each node's number is in `NODE` of its processes' environment."""
    pytest.importorskip("ray", reason="needs Ray: pip install 'cubisect[ray]'")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **head})
        try:
            for number in range(nodes):
                cluster.add_node(num_cpus=cores, env_vars={"NODE": str(number)})
            yield cluster
        finally:
            cluster.shutdown()
