"""Requests to start a campaign: what is allowed, and that nothing else reaches the command line."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cubisect.service.requests import ResumeRequest, StartRequest, start_request_of_form

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_arguments_of_a_full_request() -> None:
    request = StartRequest(
        name="a",
        driver="sim:band",
        budget=20,
        seed=3,
        sampler="random",
        lanes=2,
        timeout_s=1.5,
        fix={"direction": "D2H", "descriptor_count": "2^10"},
        vary={"total_bytes": "1MiB:2MiB", "flags": "0,1", "size_spread": ""},
    )
    assert request.arguments() == [
        "explore",
        "--name=a",
        "--driver=sim:band",
        "--budget=20",
        "--seed=3",
        "--sampler=random",
        "--lanes=2",
        "--timeout=1.5",
        "--fix=direction=d2h",
        "--fix=descriptor_count=1024",
        "--vary=total_bytes=1048576:2097152",
        "--vary=flags=0,1",
        "--vary=size_spread",
    ]


def test_a_request_without_a_name_is_named_after_driver_and_time() -> None:
    assert StartRequest(driver="sim:null").named(NOW).name == "null-20260304-050607"
    assert StartRequest(name="mine").named(NOW).name == "mine"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "../../etc/passwd"}, "String should match pattern"),
        ({"name": "--db=postgresql://evil"}, "String should match pattern"),
        ({"name": ""}, "String should match pattern"),
        ({"name": "a\nb"}, "String should match pattern"),
        ({"driver": "sim:os:system"}, "driver 'sim:os:system' is not allowed; allowed are auto, cuda, sim:"),
        ({"sampler": "evil"}, "allowed are boundary"),
        ({"preset": "vllm"}, "allowed are vllm-49276-tp2"),
        ({"budget": 0}, "greater than or equal to 1"),
        ({"db": "sqlite:///other"}, "Extra inputs are not permitted"),
        ({"fix": {"--db": "x"}}, "unknown axis '--db'"),
        ({"fix": {"direction": "up"}}, "allowed are h2d, d2h"),
        ({"vary": {"total_bytes": "1"}}, "not a range"),
        ({"vary": {"flags": "0"}, "fix": {"flags": "1"}}, "flags is both fixed and varied"),
        ({"timeout_s": float("inf")}, "less than or equal"),
    ],
)
def test_what_is_not_allowed(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        StartRequest.model_validate(fields)


@given(st.text())
def test_no_name_can_be_an_option_or_a_path(text: str) -> None:
    try:
        request = StartRequest(name=text)
    except ValidationError:
        return
    assert request.name is not None
    assert request.name.isascii()
    assert not set(request.name) & set("/\\ \n\0")
    assert request.arguments()[1] == f"--name={text}"


def test_form_fields_left_empty_are_defaults() -> None:
    form = {
        "name": " mine ",
        "budget": "",
        "seed": "",
        "fix": "direction = d2h\n\n",
        "vary": "flags\r\ntotal_bytes=1KiB:1MiB",
    }
    request = start_request_of_form(form)
    assert (request.name, request.budget, request.seed) == ("mine", 500, None)
    assert request.fix == {"direction": "d2h"}
    assert request.vary == {"flags": "", "total_bytes": "1024:1048576"}


def test_resume_arguments() -> None:
    assert ResumeRequest(budget=9).arguments("a") == ["explore", "--resume=a", "--budget=9"]
    assert ResumeRequest().arguments("a") == ["explore", "--resume=a"]
