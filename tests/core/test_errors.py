"""Errors that a user meets: a family with one root, each with its exit code."""

import pytest

from cubisect.errors import BisectError, ExitCode, InputError, StoreError, UnfitEnvironmentError, choices


@pytest.mark.parametrize(("kind", "code"), [(InputError, 2), (StoreError, 2), (UnfitEnvironmentError, 3)], ids=str)
def test_each_kind_has_its_exit_code(kind: type[BisectError], code: int) -> None:
    assert kind("why").exit_code == code
    assert issubclass(kind, BisectError)


def test_exit_codes() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "DONE": 0, "CHECK_FAILED": 1, "BAD_INPUT": 2, "BAD_ENVIRONMENT": 3, "INTERRUPTED": 130
    }  # fmt: skip


def test_choices_are_listed_as_in_a_sentence() -> None:
    assert choices(["a", 1, None]) == "a, 1, None"
