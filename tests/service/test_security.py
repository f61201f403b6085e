"""The rules of access, apart from any page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from cubisect.errors import InputError
from cubisect.service.security import SESSION_COOKIE, Access, access_for, is_loopback

TOKEN = "0123456789abcdef-token"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "localhost", "::1"])
def test_loopback_needs_no_token_of_one_s_own(host: str) -> None:
    assert access_for(host, None, fallback=TOKEN).loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "gpu-host.example", ""])
def test_any_other_address_needs_a_token(host: str) -> None:
    with pytest.raises(InputError, match="needs a token"):
        access_for(host, None, fallback=TOKEN)
    assert not access_for(host, TOKEN, fallback="").loopback


def test_a_token_that_can_be_guessed_is_refused() -> None:
    with pytest.raises(InputError, match="has 5 characters; it needs 16"):
        access_for("0.0.0.0", "short", fallback=TOKEN)


@pytest.mark.parametrize(
    ("bind", "header", "known"),
    [
        ("127.0.0.1", "127.0.0.1:8000", True),
        ("127.0.0.1", "localhost", True),
        ("127.0.0.1", "LOCALHOST:80", True),
        ("::1", "[::1]:8000", True),
        ("127.0.0.1", "evil.example:8000", False),
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "192.168.1.7:8000", False),
        ("127.0.0.1", "", False),
        ("0.0.0.0", "192.168.1.7:8000", True),
        ("0.0.0.0", "evil.example", False),
        ("0.0.0.0", "lab.example:8000", True),
        ("gpu-host.example", "gpu-host.example:8000", True),
    ],
)
def test_host_header(bind: str, header: str, known: bool) -> None:  # noqa: FBT001
    access = access_for(bind, TOKEN, fallback="", names=["lab.example"])
    assert access.knows_host(header) is known


@given(st.text(max_size=60))
def test_nothing_but_the_token_is_the_token(text: str) -> None:
    access = Access(token=TOKEN)
    assert access.is_token(text) is (text == TOKEN)
    assert not access.is_form_token(text)


def test_cookie_and_form_token_prove_the_token_without_telling_it() -> None:
    access = Access(token=TOKEN)
    assert TOKEN not in {access.session, access.form_token}
    assert access.session != access.form_token
    assert access.has_session(Headers({"cookie": f"other=1; {SESSION_COOKIE}={access.session}"}))
    assert not access.has_session(Headers({"cookie": f"{SESSION_COOKIE}={access.form_token}"}))
    assert not access.has_session(Headers({"cookie": "="}))
    assert Access(token=TOKEN + "x").session != access.session


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x"])
def test_wrong_authorization(header: str) -> None:
    assert not Access(token=TOKEN).has_bearer(Headers({"authorization": header}))


def test_right_authorization() -> None:
    assert Access(token=TOKEN).has_bearer(Headers({"authorization": f"bearer {TOKEN}"}))


def test_names_are_not_addresses() -> None:
    assert not is_loopback("127.0.0.1.evil.example")
