"""A failing trial as one Python file that needs cuda-python and NumPy and nothing else."""

import textwrap
from collections.abc import Sequence

from cubisect.drivers.cuda_submit import ACCESS_ORDERS
from cubisect.reproduce.c_source import NEIGHBOUR_BYTES, TIMEOUT_S, environment
from cubisect.trial import TrialSpec

STREAMS = {
    "dedicated": "int(call(3, cu.cuStreamCreate, int(cu.CUstream_flags.CU_STREAM_NON_BLOCKING)))",
    "per_thread": "2",
    "legacy": "1",
}


def unsupported_reason(spec: TrialSpec) -> str | None:
    """Return what of a trial the Python program cannot show, None when it shows all of it."""
    if spec.host_memory == "registered_chunks":
        return "host memory registered in chunks"
    if spec.stream_state != "idle":
        return f"a stream that is {spec.stream_state}"
    return None if spec.invalid == "none" else f"invalid {spec.invalid}"


def python_source(spec: TrialSpec, *, title: str, facts: Sequence[str] = (), timeout_s: float = TIMEOUT_S) -> str:
    """Return the text of ``reproduce.py`` for a trial of which `unsupported_reason` is None."""
    reason = unsupported_reason(spec)
    assert reason is None, reason
    count = len(spec.batch)
    return environment().get_template("reproduce.py.j2").render(
        title=_doc_text(title), facts=[_doc_text(fact) for fact in facts], timeout_s=f"{timeout_s:g}",
        packed=textwrap.wrap(spec.batch.descriptors.pack(), 108), repetition=spec.repetition,
        host_memory=spec.host_memory, from_host=spec.direction[0] == "h", to_host=spec.direction[2] == "h",
        abi=spec.abi, fail_index=spec.abi < 13000, chunk=min(spec.chunk, count), attribute_count=spec.attribute_count,
        per_copy=spec.attrs_layout == "per_copy", access_order=ACCESS_ORDERS[spec.access_order], flags=spec.flags,
        stream=STREAMS[spec.stream], window=1 if spec.sync_between else spec.in_flight,
        ranks=spec.ranks, rank="rank" if spec.ranks > 1 else "0", neighbours=spec.neighbours,
        neighbour_kind=spec.neighbour_kind, neighbour_bytes=NEIGHBOUR_BYTES[spec.neighbour_kind],
        overwrite_source=spec.access_order == "during_api_call" and spec.direction[0] == "h",
    )  # fmt: skip


def _doc_text(text: str) -> str:
    return " ".join(text.split()).replace("\\", "/").replace('"""', "'''")
