"""The tables of a report: nothing rounded that was set, nothing published that names a machine or a folder."""

from typing import Any

import pytest

from cubisect.outcome import CrashEvidence, Evidence, HangEvidence, HangKind, Phase
from cubisect.report.facts import asked_rows, seen_rows, value_text
from cubisect.space import Space

PRIVATE = "/home/somebody/secret"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("descriptor_count", 1 << 20, "1,048,576"),
        ("total_bytes", 512 << 20, "512 MiB"),
        ("total_bytes", 6_867_115, "6,867,115 B"),
        ("gap", 0, "0 B"),
        ("size_spread", 0.2231, "0.2231"),
        ("size_spread", 1.0, "1"),
        ("direction", "h2d", "h2d"),
        ("sync_between", False, "False"),
    ],
)
def test_a_value_is_exact_and_has_its_unit(name: str, value: Any, text: str) -> None:
    assert value_text(name, value) == text


def test_what_was_asked_names_every_axis_once() -> None:
    rows = dict(asked_rows(Space.of()))
    assert rows["descriptor_count"] == "1 to 1,048,576"
    assert "direction h2d" in rows["held at the default"]
    assert "descriptor_count" not in rows["held at the default"]


def test_what_was_seen_is_told_without_folders_and_private_texts() -> None:
    hang = HangEvidence(
        kind=HangKind.SPINNING, native_stack=f"spin ({PRIVATE}/libfoo.so)", python_stack=PRIVATE, wait_channel="do_poll"
    )
    crash = CrashEvidence(instruction="libcuda.so.1+0x12", frames=("libcuda.so.1+0x12",), python_stack=PRIVATE)
    evidence = Evidence(
        phase=Phase.SUBMIT, repetition=2, wall_s=1.0, hang=hang, crash=crash, notes=(PRIVATE,), output_tail=PRIVATE
    )
    rows = dict(seen_rows(evidence))
    assert rows["reached"] == "submit, submission 2"
    assert rows["waits in"] == "do_poll"
    assert rows["native stack"] == "spin (libfoo.so)"
    assert rows["frames"] == "libcuda.so.1+0x12"
    assert not any("secret" in text or "somebody" in text for text in rows.values())
