"""A failing trial as one C file that uses the CUDA Driver API and nothing else."""

from collections.abc import Sequence
from typing import Any

import jinja2

from cubisect.batch import Batch, Int64
from cubisect.errors import InputError
from cubisect.reproduce.arrays import fill, fill_offsets
from cubisect.space import KIB, MIB
from cubisect.trial import TrialSpec

TIMEOUT_S = 60.0
"""Deadline of one run when the caller knows no better: far above any set-up."""

ACCESS_ORDERS = {"stream": "STREAM", "during_api_call": "DURING_API_CALL", "any": "ANY"}
STREAMS = {"dedicated": "NULL", "per_thread": "CU_STREAM_PER_THREAD", "legacy": "CU_STREAM_LEGACY"}
NEIGHBOUR_BYTES = {"copies": 32 * MIB, "memsets": 256 * MIB, "batches": 64 * 64 * KIB}
NEIGHBOUR_WORK = {
    "copies": "NEED(cuMemcpyHtoDAsync(device, host, BYTES, stream));",
    "memsets": "NEED(cuMemsetD8Async(device, 0, BYTES, stream));",
    "batches": "NEED(call(to, from, each, 64, &attribute, &start, 1, &fail_index, stream));",
}


def c_source(spec: TrialSpec, *, title: str, facts: Sequence[str] = (), timeout_s: float = TIMEOUT_S) -> str:
    """Return the text of ``reproduce.c`` for a trial.

    `title` is the first line of its header comment and `facts` are further lines: rates, environment.

    Raises:
        InputError: the trial has several ranks, which one process cannot show.
    """
    if spec.ranks > 1:
        raise InputError(
            f"ranks {spec.ranks}: the C program shows one process; type `bisect shrink` first, or "
            "`bisect replay case.json`, which runs all ranks"
        )
    return environment().get_template("reproduce.c.j2").render(
        **_batch_text(spec), **_call_text(spec), **_memory_text(spec, spec.batch),
        title=comment_text(title), facts=[comment_text(fact) for fact in facts], timeout_s=f"{timeout_s:g}",
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
    arrays = [
        fill("size", batch.sizes),
        fill_offsets("source", batch.source, batch.sizes, placings),
        fill_offsets("destination", batch.destination, batch.sizes, placings),
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
        "zero_size": f"sizes[{i}] = 0;",
        "out_of_bounds": f"sizes[{i}] = {beyond};",
    }[spec.invalid]
    return [statement], i


def _call_text(spec: TrialSpec) -> dict[str, Any]:
    count = len(spec.batch)
    attributes = min(spec.attribute_count, count)
    order = f"CU_MEMCPY_SRC_ACCESS_ORDER_{ACCESS_ORDERS[spec.access_order]}"
    in_call = min(spec.chunk, count)
    return {
        "repetition": spec.repetition,
        "window": 1 if spec.sync_between else spec.in_flight,
        "chunk": spec.chunk,
        "fail_index": spec.abi < 13000,
        "abi": spec.abi,
        "attribute_count": min(attributes, in_call),
        "attribute_index_length": in_call if spec.attrs_layout == "per_copy" else min(attributes, in_call),
        "per_copy": spec.attrs_layout == "per_copy",
        "access_order": "9 /* no such order */" if spec.invalid == "wrong_attributes" else order,
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


def _memory_text(spec: TrialSpec, batch: Batch) -> dict[str, Any]:
    from_host, to_host = spec.direction[0] == "h", spec.direction[2] == "h"
    sides: list[dict[str, Any]] = []
    chunked = spec.host_memory == "registered_chunks" and (from_host or to_host)
    for name, starts, extent, on_host in (
        ("from", batch.source, batch.source_extent, from_host),
        ("to", batch.destination, batch.destination_extent, to_host),
    ):
        if chunked and on_host:
            sides.append({"name": name, "cuts": [0, *registration_cuts(starts, batch.sizes, extent), extent]})
    return {
        "host_memory": spec.host_memory,
        "on_host": from_host or to_host,
        "on_device": not (from_host and to_host),
        "source_on_device": int(not from_host),
        "destination_on_device": int(not to_host),
        "chunked": chunked,
        "chunked_sides": sides,
        "max_segments": max((len(side["cuts"]) - 1 for side in sides), default=1),
        "allocate_source": _allocate("from", "SOURCE_BYTES", on_host=from_host, chunked=chunked, sides=sides),
        "allocate_destination": _allocate("to", "DESTINATION_BYTES", on_host=to_host, chunked=chunked, sides=sides),
    }


def registration_cuts(starts: Int64, sizes: Int64, extent: int) -> list[int]:
    """Return where the CUDA driver of this package divides a buffer of ``registered_chunks``."""
    from cubisect.drivers.cuda_memory import (  # noqa: PLC0415  (imports cuda-python, needed for this kind alone)
        REGISTRATION_BYTES,
        REGISTRATIONS,
        uncut_offsets,
    )

    return uncut_offsets(starts, sizes, min(REGISTRATION_BYTES, -(-extent // REGISTRATIONS)))


def _allocate(name: str, extent: str, *, on_host: bool, chunked: bool, sides: Sequence[dict[str, Any]]) -> str:
    if not on_host:
        return f"allocate_on_device(&{name}, {extent})"
    if not chunked:
        return f"allocate_on_host(&{name}, {extent})"
    segments = next(len(side["cuts"]) - 1 for side in sides if side["name"] == name)
    return f"allocate_on_host(&{name}, {name}_cuts, {segments})"
