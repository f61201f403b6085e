"""The API does what its OpenAPI description says, for requests that nobody thought of."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from schemathesis.specs.openapi.checks import positive_data_acceptance

from cubisect.errors import InputError
from cubisect.service.app import create_app
from cubisect.service.processes import Launcher
from service.conftest import TOKEN, Running, Serve

EXAMPLES = 4
"""Requests of each kind to each path; 200 is a good number to run by hand."""


class NoLauncher(Launcher):
    """Starts nothing, whatever is asked."""

    def start(self, name, arguments):  # type: ignore[no-untyped-def]
        assert all(argument.startswith(("explore", "--")) for argument in arguments)
        raise InputError(f"campaign {name} is not started in this test")


@pytest.fixture(scope="module")
def fuzzed(database: Path, serve: Serve) -> Running:
    return serve(create_app(str(database), TOKEN, launcher=NoLauncher(str(database))))


def test_answers_are_as_described(fuzzed: Running) -> None:
    api = schemathesis.openapi.from_url(f"{fuzzed.url}/openapi.json")
    operations: list[Any] = [found.ok() for found in api.get_all_operations()]  # type: ignore[union-attr]
    finite = [operation for operation in operations if not operation.path.endswith("/events")]  # see test_api.py
    assert len(finite) == len(operations) - 1 > 6
    for operation in finite:
        _fuzz(operation.as_strategy())
    assert httpx.get(f"{fuzzed.url}/api/campaigns").status_code == 200


def _fuzz(cases: SearchStrategy[Any]) -> None:
    @given(cases)
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def as_described(case: Any) -> None:
        case.headers["Authorization"] = f"Bearer {TOKEN}"
        case.call_and_validate(
            excluded_checks=[positive_data_acceptance]
        )  # which text an axis takes is not in the schema

    as_described()
