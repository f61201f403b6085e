"""A user's own batch: every format, and a clear message for everything that can be wrong with one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cubisect.batch import Descriptors
from cubisect.errors import InputError
from cubisect.workloads import read_batch_file

ROWS = [[0, 128, 64], [4096, 0, 100], [64, 1024, 16]]


def test_json_rows(tmp_path: Path) -> None:
    path = tmp_path / "batch.json"
    path.write_text(json.dumps(ROWS))
    _check(read_batch_file(path))


def test_json_columns(tmp_path: Path) -> None:
    path = tmp_path / "batch.json"
    source, destination, sizes = zip(*ROWS, strict=True)
    path.write_text(json.dumps({"source": source, "destination": destination, "sizes": sizes}))
    _check(read_batch_file(path))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32])
def test_npy(tmp_path: Path, dtype: type) -> None:
    path = tmp_path / "batch.npy"
    np.save(path, np.array(ROWS, dtype=dtype))
    _check(read_batch_file(path))


def test_npz_of_three_arrays(tmp_path: Path) -> None:
    path = tmp_path / "batch.npz"
    source, destination, sizes = np.array(ROWS).T
    np.savez(path, source=source, destination=destination, sizes=sizes)
    _check(read_batch_file(path))


def test_npz_of_one_array(tmp_path: Path) -> None:
    path = tmp_path / "batch.npz"
    np.savez(path, np.array(ROWS))
    _check(read_batch_file(path))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the batch is empty"),
        ([[0, 0, 1], [5, 5]], r"descriptor 1: \[5, 5\] is not a \[source, destination, size\] row"),
        ([[0, 0, 1.5]], "descriptor 0: 1.5 is not a whole number"),
        ([[0, 0, True]], "descriptor 0: True is not a whole number"),
        ([[0, 0, 2**63]], "descriptor 0: 9223372036854775808 is not a whole number"),
        ([[0, 0, 8], [8, 8, 0]], "descriptor 1: size is 0"),
        ([[0, 0, 8], [8, -8, 1]], "descriptor 1: destination offset is -8"),
        ([[-1, 0, 8]], "descriptor 0: source offset is -1"),
        ([[0, 0, 8], [100, 200, 8], [8, 7, 8]], "descriptors 0 and 2 overlap"),
        ([[0, 0, 8], [2**62, 8, 8]], "descriptor 1: .* not addresses"),
        ([[0, 0, 2**62]], "descriptor 0: .* end beyond"),
        ("x", "write a list of"),
        ({"source": [1], "sizes": [1]}, "found source, sizes; write the arrays source, destination, sizes"),
        ({"source": [1], "destination": [1, 2], "sizes": [1]}, "different lengths"),
    ],
)
def test_what_is_wrong_with_json(tmp_path: Path, rows: Any, message: str) -> None:
    path = tmp_path / "batch.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(InputError, match=f"batch.json: .*{message}"):
        read_batch_file(path)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 4), dtype=np.int64), "shape 2 × 4"),
        (np.zeros(3, dtype=np.int64), "shape 3;"),
        (np.array(5), "shape of a single number"),
        (np.ones((2, 3)), "float64 numbers"),
        (np.array([[0, 0, 2**64 - 1]], dtype=np.uint64), "does not fit"),
    ],
)
def test_what_is_wrong_with_npy(tmp_path: Path, array: np.ndarray[Any, Any], message: str) -> None:
    path = tmp_path / "batch.npy"
    np.save(path, array)
    with pytest.raises(InputError, match=message):
        read_batch_file(path)


@pytest.mark.parametrize("suffix", ["json", "npy", "npz"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe garbage", b"PK\x03\x04 cut short"])
def test_garbage_is_named_as_such(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"batch.{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"not a .{suffix} file"):
        read_batch_file(path)


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "batch.npy"
    np.save(path, np.array([object()]), allow_pickle=True)
    with pytest.raises(InputError, match=r"not a \.npy file"):
        read_batch_file(path)


def test_unknown_extension_lists_the_formats(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.json, \.npy, \.npz; got '\.csv'"):
        read_batch_file(tmp_path / "batch.csv")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_batch_file(tmp_path / "batch.json")


def _check(descriptors: Descriptors) -> None:
    assert np.stack([descriptors.source, descriptors.destination, descriptors.sizes], axis=1).tolist() == ROWS
    assert descriptors.sizes.dtype == np.int64
