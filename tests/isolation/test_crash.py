"""Where a process crashed: the address, the access and the instruction, for real deaths; nonsense tells nothing."""

import os
import platform
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubisect.isolation import Lane
from cubisect.isolation.crash import MODULES_BYTES, Module, from_bytes, modules_of, place_of, to_bytes, trap_in
from support.faulty import BAD_JUMP_AT, BAD_READ_AT, Fault, trial

x86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the signal frame is read on x86-64 only")


@x86_64
@pytest.mark.parametrize(
    ("fault", "address", "access", "instruction"),
    [
        (Fault.SEGFAULT, 0, "write", r"libc\.so\.6\+0x[0-9a-f]+"),
        (Fault.SEGFAULT_AFTER_DEEP_CALLS, 0, "write", r"libc\.so\.6\+0x[0-9a-f]+"),
        (Fault.BAD_READ, BAD_READ_AT, "read", r"libc\.so\.6\+0x[0-9a-f]+"),
        (Fault.BAD_JUMP, BAD_JUMP_AT, "execute", hex(BAD_JUMP_AT)),
        (Fault.SENT_SEGFAULT, None, None, r"libc\.so\.6\+0x[0-9a-f]+"),
        (Fault.ABORT, None, None, r"libc\.so\.6\+0x[0-9a-f]+"),
    ],
)
def test_a_crash_tells_address_access_and_instruction(
    lane: Lane, fault: Fault, address: int | None, access: str | None, instruction: str
) -> None:
    crash = lane.run(trial(fault), 5.0).crash
    assert crash is not None
    assert (crash.fault_address, crash.access) == (address, access)
    assert re.fullmatch(instruction, crash.instruction or "")
    assert "Fatal Python error" in (crash.python_stack or "")


@x86_64
def test_the_same_crash_is_in_the_same_instruction_in_every_process(lane: Lane) -> None:
    seen = [lane.run(trial(Fault.SEGFAULT), 5.0).crash for _ in range(3)]
    lane.close()  # another fork server has its libraries elsewhere
    seen += [lane.run(trial(Fault.SEGFAULT), 5.0).crash]
    assert len({crash and crash.instruction for crash in seen}) == 1


@x86_64
@pytest.mark.parametrize("fault", [Fault.BUS_ERROR, Fault.STACK_OVERFLOW])
def test_a_bus_error_and_a_full_stack_have_an_address(lane: Lane, fault: Fault) -> None:
    crash = lane.run(trial(fault), 5.0).crash
    assert crash is not None
    assert crash.access == "write"
    assert (crash.fault_address or 0) > 1 << 20


def test_no_crash_no_evidence_of_one(lane: Lane) -> None:
    assert lane.run(trial(Fault.NONE), 5.0).crash is None
    killed = lane.run(trial(Fault.OUTSIDE_KILL), 5.0).crash
    assert killed is not None
    assert (killed.fault_address, killed.instruction) == (None, None)


@given(st.binary(max_size=4096), st.integers(0, 2**63))
def test_nonsense_on_the_stack_is_no_trap(stack: bytes, address: int) -> None:
    assert trap_in(stack, address) is None


@given(st.binary(max_size=512))
def test_nonsense_in_the_list_of_modules_is_passed_over(data: bytes) -> None:
    assert all(isinstance(module, Module) for module in from_bytes(data))


def test_modules_are_files_in_memory_and_places_are_relative_to_them() -> None:
    modules = modules_of(os.getpid())
    libc = next(module for module in modules if module.name.startswith("libc.so"))
    assert place_of(libc.start + 0x10, modules) == f"{libc.name}+0x10"
    assert place_of(0, modules) is None
    assert from_bytes(to_bytes(modules) + b"\0" * 100) == modules
    assert modules_of(0) == []


def test_too_many_modules_are_cut_short() -> None:
    many = [Module(name=f"lib{number}.so", start=number, stop=number + 1) for number in range(5000)]
    text = to_bytes(many)
    assert len(text) <= MODULES_BYTES
    kept = from_bytes(text)
    assert kept == many[: len(kept)]
    assert len(kept) > 300
