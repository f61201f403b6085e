"""A user's own batch: rows of (source offset, destination offset, size) from a JSON or NumPy file."""

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from cubisect.batch import Descriptors, check_descriptors
from cubisect.errors import InputError, choices
from cubisect.space import MAX_BYTES, MAX_DESCRIPTORS

COLUMNS = ("source", "destination", "sizes")
"""The columns of a row, and the names of the arrays in a .npz file; in a JSON file also the keys of an object."""


def read_batch_file(path: Path) -> Descriptors:
    """Return the descriptors in a file: .json, .npy (shape n × 3) or .npz (three arrays, or one of shape n × 3).

    Raises:
        InputError: the file cannot be read, has another shape, or a descriptor is invalid; the message names it.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: a batch is read from {choices(_READERS)}; got {path.suffix or 'no extension'!r}")
    try:
        descriptors = _descriptors(reader(path))
        check_descriptors(descriptors)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'cannot be read'}; give the path of a batch file") from error
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f"{path}: not a {path.suffix.lower()} file: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return descriptors


def _descriptors(rows: Any) -> Descriptors:
    table = _table(rows)
    if len(table) > MAX_DESCRIPTORS:
        raise InputError(f"{len(table)} descriptors are too many; a batch has at most {MAX_DESCRIPTORS:,}")
    _check_bounds(table)
    source, destination, sizes = np.ascontiguousarray(table.T)
    return Descriptors(source, destination, sizes)


def _check_bounds(table: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    """Raise `InputError` naming the first descriptor that ends beyond the largest buffer there is."""
    beyond = np.flatnonzero((table[:, :2].max(axis=1, initial=0) > MAX_BYTES - table[:, 2]) | (table[:, 2] > MAX_BYTES))
    if len(beyond):
        source, destination, size = table[beyond[0]]
        raise InputError(
            f"descriptor {beyond[0]}: {size} bytes from {source} to {destination} end beyond {MAX_BYTES} bytes, the "
            f"largest buffer; offsets count from the start of the buffers, they are not addresses"
        )


def _table(rows: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the rows as an int64 array of shape n × 3; raise `InputError` naming what does not fit."""
    if isinstance(rows, Mapping):
        rows = _columns(rows)
    if isinstance(rows, list):
        _check_rows(rows)
        rows = np.array(rows, dtype=np.int64).reshape(-1, 3)
    if rows.ndim != 2 or rows.shape[1] != 3:
        shape = " × ".join(str(n) for n in rows.shape)
        raise InputError(f"shape {shape or 'of a single number'}; write one (source, destination, size) row per copy")
    if rows.dtype.kind not in "iu":
        raise InputError(f"{rows.dtype} numbers; offsets and sizes are whole bytes, so write an integer array")
    if rows.dtype.kind == "u" and rows.size and int(rows.max()) > np.iinfo(np.int64).max:
        raise InputError(f"{rows.max()} does not fit into 64 bits with a sign")
    return rows.astype(np.int64)  # type: ignore[no-any-return]


def _columns(table: Mapping[str, Any]) -> Any:
    """Return the rows of a table that has one array per column, or a single one of shape n × 3."""
    if set(table) == set(COLUMNS):
        columns = [np.asarray(table[name]) for name in COLUMNS]
        if len({column.shape for column in columns}) != 1:
            raise InputError(f"{choices(COLUMNS)} have different lengths")
        return np.stack(columns, axis=-1)
    if len(table) == 1:
        return next(iter(table.values()))
    raise InputError(f"found {choices(table)}; write the arrays {choices(COLUMNS)}, or one array of rows")


def _check_rows(rows: list[Any]) -> None:
    for index, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3:
            raise InputError(f"descriptor {index}: {row!r:.60} is not a [source, destination, size] row")
        for value in row:
            if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 63:
                raise InputError(f"descriptor {index}: {value!r:.60} is not a whole number of bytes")


def _read_json(path: Path) -> Any:
    data = json.loads(path.read_text("utf-8"))
    if not isinstance(data, list | dict):
        raise InputError("write a list of [source, destination, size] rows")
    return data


def _read_npy(path: Path) -> Any:
    with path.open("rb") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _read_npz(path: Path) -> Any:
    with path.open("rb") as file, np.lib.npyio.NpzFile(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


_READERS: Mapping[str, Callable[[Path], Any]] = MappingProxyType(
    {".json": _read_json, ".npy": _read_npy, ".npz": _read_npz}
)
