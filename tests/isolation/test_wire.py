"""Frames: what comes back is what was sent, or is told apart from it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cubisect.isolation import wire
from cubisect.outcome import ResultState

VALUES = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=20) | st.none(), max_size=4)


@given(VALUES)
def test_a_frame_comes_back(value: dict[str, Any]) -> None:
    assert wire.decode(wire.encode(value)) == (ResultState.COMPLETE, value)


@given(VALUES, st.data())
def test_a_cut_frame_is_partial(value: dict[str, Any], data: st.DataObject) -> None:
    frame = wire.encode(value)
    length = data.draw(st.integers(1, len(frame) - 1))
    assert wire.decode(frame[:length]) == (ResultState.PARTIAL, None)


@given(VALUES, st.data())
def test_a_changed_frame_is_never_complete(value: dict[str, Any], data: st.DataObject) -> None:
    frame = bytearray(wire.encode(value))
    position = data.draw(st.integers(0, len(frame) - 1))
    frame[position] ^= data.draw(st.integers(1, 255))
    padding = position in (6, 7)
    state, _ = wire.decode(bytes(frame))
    assert (state is ResultState.COMPLETE) == padding


@given(st.binary(max_size=64))
def test_garbage_never_raises(data: bytes) -> None:
    state, _ = wire.decode(data)
    assert (state is ResultState.MISSING) == (not data)


@given(VALUES, st.binary(min_size=1, max_size=8))
def test_more_than_one_frame_is_corrupt(value: dict[str, Any], more: bytes) -> None:
    assert wire.decode(wire.encode(value) + more)[0] is ResultState.CORRUPT
