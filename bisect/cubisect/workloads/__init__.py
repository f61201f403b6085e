"""Real KV-cache transfers as explicit descriptor lists, and a user's own."""

from cubisect.workloads.batch_file import read_batch_file
from cubisect.workloads.describe import Description, SizeCount, describe
from cubisect.workloads.registry import WORKLOADS, Workload, preset_point, workload_descriptors, workload_named

__all__ = [
    "WORKLOADS",
    "Description",
    "SizeCount",
    "Workload",
    "describe",
    "preset_point",
    "read_batch_file",
    "workload_descriptors",
    "workload_named",
]
