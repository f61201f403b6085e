"""A failing trial as one C file that uses the CUDA Driver API and nothing else."""

from collections.abc import Sequence
from typing import Any

import jinja2
import numpy as np

from cubisect.batch import Batch
from cubisect.reproduce.arrays import CArray, fill, fill_offsets
from cubisect.reproduce.c_memory import c_memory
from cubisect.space import KIB, MIB
from cubisect.trial import TrialSpec

TIMEOUT_S = 60.0
"""Deadline of one run when the caller knows no better: far above any set-up."""

ACCESS_ORDERS = {"stream": "STREAM", "during_api_call": "DURING_API_CALL", "any": "ANY"}
STREAMS = {"dedicated": "NULL", "per_thread": "CU_STREAM_PER_THREAD", "legacy": "CU_STREAM_LEGACY"}
SAME_OFFSETS = "for (size_t i = 0; i < COUNT; i++) destination[i] = source[i];"
NEIGHBOUR_BYTES = {"copies": 32 * MIB, "memsets": 256 * MIB, "batches": 64 * 64 * KIB}
NEIGHBOUR_WORK = {
    "copies": "cuMemcpyHtoDAsync(device, host, BYTES, stream)",
    "memsets": "cuMemsetD8Async(device, 0, BYTES, stream)",
    "batches": "call(to, from, each, 64, &attribute, &start, 1, &fail_index, stream)",
}


def c_source(spec: TrialSpec, *, title: str, facts: Sequence[str] = (), timeout_s: float = TIMEOUT_S) -> str:
    """Return the text of ``reproduce.c`` for a trial.

    `title` is the first line of its header comment and `facts` are further lines: rates, environment.
    """
    return environment().get_template("reproduce.c.j2").render(
        **_batch_text(spec), **_call_text(spec), memory=c_memory(spec),
        title=comment_text(title), facts=[comment_text(fact) for fact in facts], timeout_s=max(round(timeout_s), 1),
    )  # fmt: skip


def environment() -> jinja2.Environment:
    """Return the environment of this room's templates; an undefined name is an error."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("cubisect.reproduce"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  (C, Python and Markdown, not HTML)
    )


def comment_text(text: str) -> str:
    """Return text that may stand in a C comment, on one line."""
    return " ".join(text.split()).replace("*/", "* /")


def _batch_text(spec: TrialSpec) -> dict[str, Any]:
    batch = spec.batch
    placings = [(spec.alignment, spec.gap), (1, 0)]
    same = np.array_equal(batch.source, batch.destination)
    arrays = [
        fill("size", batch.sizes),
        fill_offsets("source", batch.source, batch.sizes, placings),
        CArray([SAME_OFFSETS]) if same else fill_offsets("destination", batch.destination, batch.sizes, placings),
    ]
    spoil, skipped = _spoil(spec, batch)
    return {
        "count": len(batch),
        "source_extent": batch.source_extent,
        "destination_extent": batch.destination_extent,
        "statements": [line for array in arrays for line in array.statements],
        "tables": [table for array in arrays for table in array.tables],
        "spoil": spoil,
        "skipped": skipped,
    }


def _spoil(spec: TrialSpec, batch: Batch) -> tuple[list[str], int | None]:
    """Return the statements that make one descriptor wrong on purpose, and its index."""
    i = batch.invalid_index
    if i is None or spec.invalid == "wrong_attributes":
        return [], None
    beyond = 2 * max(batch.source_extent, batch.destination_extent) + 64 * MIB
    statement = {
        "null_source": f"srcs[{i}] = 0;",
        "null_destination": f"dsts[{i}] = 0;",
        "zero_size": f"size[{i}] = 0;",
        "out_of_bounds": f"size[{i}] = {beyond};",
    }[spec.invalid]
    return [statement], i


def _call_text(spec: TrialSpec) -> dict[str, Any]:
    count = len(spec.batch)
    attributes = min(spec.attribute_count, count)
    order = f"CU_MEMCPY_SRC_ACCESS_ORDER_{ACCESS_ORDERS[spec.access_order]}"
    in_call = min(spec.chunk, count)
    window = 1 if spec.sync_between else spec.in_flight
    synchronise = "CHECK(ASYNC_ERROR, cuStreamSynchronize(stream));"
    return {
        "repetition": spec.repetition,
        "window": window,
        "ranks": spec.ranks,
        "phase": "shared->phase[rank]" if spec.ranks > 1 else "shared->phase",
        "synchronise": f"{{ open_gate(0); {synchronise} }}" if spec.stream_state == "blocked" else synchronise,
        "chunk": spec.chunk,
        "n": "count" if spec.chunk < count else "COUNT",
        "fail_index": spec.abi < 13000,
        "abi": spec.abi,
        "attributes": min(attributes, in_call),
        "attribute_indices": in_call if spec.attrs_layout == "per_copy" else min(attributes, in_call),
        "per_copy": spec.attrs_layout == "per_copy",
        "access_order": "(CUmemcpySrcAccessOrder)9" if spec.invalid == "wrong_attributes" else order,
        "flags": spec.flags,
        "stream": spec.stream,
        "stream_handle": STREAMS[spec.stream],
        "blocked": spec.stream_state == "blocked",
        "backlog": spec.stream_state == "backlog",
        "overwrite_source": spec.access_order == "during_api_call" and spec.direction[0] == "h",
        "neighbours": spec.neighbours,
        "neighbour_kind": spec.neighbour_kind,
        "neighbour_bytes": NEIGHBOUR_BYTES[spec.neighbour_kind],
        "neighbour_work": NEIGHBOUR_WORK[spec.neighbour_kind],
    }
