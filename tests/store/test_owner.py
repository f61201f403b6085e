"""Who runs a trial, and when it is certainly gone."""

import os
import shutil
import subprocess
import sys

import pytest

from cubisect.store.owner import is_gone, this_process

CODE = "from cubisect.store.owner import this_process; print(this_process(), flush=True); input()"


def test_this_process_is_not_gone() -> None:
    assert not is_gone(this_process())


def test_an_owner_elsewhere_is_never_certainly_gone() -> None:
    assert not is_gone("0123456789abcdef:1:1")


def test_a_process_that_has_ended_is_gone_even_before_it_is_reaped() -> None:
    child = subprocess.Popen([sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    owner = child.stdout.readline().strip()
    assert not is_gone(owner)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_gone(owner)
    child.communicate()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare")
def test_a_process_in_another_container_of_this_machine_is_not_taken_for_gone() -> None:
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", CODE]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    owner = child.stdout.readline().strip()
    assert owner
    assert not is_gone(owner)
    child.communicate("\n")
