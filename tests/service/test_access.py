"""Who gets in: over HTTP, for every route that there is."""

from pathlib import Path
from urllib.parse import quote, urlencode

import httpx
import pytest
from fastapi.routing import APIRoute

from cubisect.errors import InputError, StoreError
from cubisect.service import api, downloads, pages
from cubisect.service.app import create_app, login_url
from cubisect.service.security import FORM_FIELD, SESSION_COOKIE
from service.conftest import TOKEN, Running, Serve
from service.recorded import record_campaign

UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}


def changing_routes() -> list[str]:
    """Return the path of every route that changes something; signing in changes nothing that is recorded."""
    listed = [*api.router.routes, *downloads.router.routes, *pages.router.routes]
    routes = [route for route in listed if isinstance(route, APIRoute)]
    assert len(routes) == len(listed) > 15
    unsafe = [route.path for route in routes if (route.methods or set()) & UNSAFE]
    return sorted(path.format(name="open") for path in unsafe if path != "/login")


def test_nothing_changes_without_the_token(server: Running) -> None:
    paths = changing_routes()
    assert len(paths) == 6
    for path in paths:
        for client in (server.reader, server.person):
            answer = client.post(path, json={}) if path.startswith("/api/") else client.post(path, data={"name": "x"})
            assert answer.status_code in {401, 403}, path
            assert "token" in answer.text


def test_a_cookie_alone_or_a_form_token_alone_is_not_enough(server: Running) -> None:
    stop = "/campaigns/open/stop"
    assert server.person.post(stop, data={FORM_FIELD: "wrong"}).status_code == 403
    assert server.reader.post(stop, data={FORM_FIELD: server.form_token}).status_code == 403
    assert server.person.post("/api/campaigns/open/stop").status_code == 401
    signed = server.person.post(stop, data={FORM_FIELD: server.form_token})
    assert (signed.status_code, "not run by this server" in signed.text) == (409, True)


@pytest.mark.parametrize("token", ["?", "wrong", TOKEN + "x"])
def test_wrong_tokens(server: Running, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    assert server.reader.post("/api/campaigns", json={}, headers=headers).status_code == 401
    signing_in = httpx.post(f"{server.url}/login", data={"token": token})
    assert signing_in.status_code == 401
    assert "set-cookie" not in signing_in.headers


def test_the_printed_address_signs_in_and_does_not_stay_in_the_bar(server: Running) -> None:
    address = login_url(server.app, 8017).replace("http://127.0.0.1:8017", server.url)
    answer = httpx.get(address)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{SESSION_COOKIE}=")
    assert {"HttpOnly", "SameSite=strict"} <= set(cookie.split("; "))
    assert TOKEN not in cookie


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_rebound_name_gets_nothing(server: Running, host: str) -> None:
    for path in ("/", "/api/campaigns", "/login", "/static/page.js"):
        answer = server.person.get(path, headers={"Host": host})
        assert answer.status_code in {400, 421}
        assert "band" not in answer.text


def test_another_address_is_read_with_the_token_only(database: Path, serve: Serve) -> None:
    running = serve(create_app(str(database), TOKEN, host="0.0.0.0"))
    for path in ("/", "/campaigns/band", "/api/campaigns", "/openapi.json", "/start", "/campaigns/band/trials.csv"):
        assert running.reader.get(path).status_code == 401, path
        assert running.program.get(path).status_code == 200, path
        assert running.person.get(path).status_code == 200, path
    assert running.reader.get("/login").status_code == 200
    assert running.reader.get("/static/style.css").status_code == 200


def test_another_address_needs_a_token_of_one_s_own(database: Path) -> None:
    with pytest.raises(InputError, match="needs a token"):
        create_app(str(database), host="0.0.0.0")


def test_loopback_draws_a_token(database: Path) -> None:
    one, other = (login_url(create_app(str(database)), 1) for _ in range(2))
    assert one != other


def test_a_missing_database_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such database"):
        create_app(str(tmp_path / "none.sqlite"))


def test_pages_load_nothing_from_elsewhere(server: Running) -> None:
    for path in ("/", "/campaigns/band", "/campaigns/band/trials/3", "/start", "/compare", "/login"):
        answer = server.person.get(path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-inline" not in policy
        found = [part for part in ("http://", "https://", "<style", "style=", "onclick") if part in answer.text]
        assert found == []


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/docs", "/redoc"]
)
def test_no_other_files(server: Running, path: str) -> None:
    assert server.person.get(path).status_code == 404


def test_a_form_is_of_limited_size(server: Running) -> None:
    assert server.person.post("/start", content=b"a" * 70_000).status_code == 413
    assert server.person.post("/start", content=b"\xff\xfe=1").status_code == 400


def test_hostile_names_and_texts_stay_text(tmp_path: Path, serve: Serve) -> None:
    name, gpu = "\"'><script>alert(1)..", "</dd><img src=x onerror=alert(2)>"
    path = tmp_path / "hostile.sqlite"
    record_campaign(path, name, gpu=gpu)
    record_campaign(path, "plain")
    running = serve(create_app(str(path), TOKEN))
    here = f"/campaigns/{quote(name, safe='')}"
    compared = f"/compare?{urlencode({'a': name, 'b': 'plain'})}"
    shown = [running.person.get(path) for path in ("/", compared, here, f"{here}/trials/3", f"{here}%3Cb%3E", "/start")]
    assert [answer.status_code for answer in shown] == [200, 200, 200, 200, 404, 200]
    for answer in shown:
        assert "<script>alert" not in answer.text
        assert "<img" not in answer.text
        assert "<b>" not in answer.text
    assert "&lt;script&gt;alert(1)" in shown[0].text
    assert all("&lt;img src=x" in answer.text for answer in shown[1:4])
    assert running.person.get(f"{here}/trials.csv").headers["content-disposition"].isascii()


def test_a_request_chooses_no_database(server: Running, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    for query in ({"db": str(other)}, {"url": f"sqlite:///{other}"}):
        assert server.program.post("/api/campaigns", params=query, json={"db": str(other)}).status_code == 422
        assert server.program.get("/api/campaigns", params=query).json()
    form = {FORM_FIELD: server.form_token, "name": "x", "db": str(other)}
    assert server.person.post("/start", data=form).status_code == 422
    assert not other.exists()


def test_a_page_elsewhere_changes_nothing(server: Running) -> None:
    """A form that another site lets a signed-in browser send has the cookie, and neither header nor form token."""
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    for path in changing_routes():
        assert server.person.post(path, headers=foreign, data={"name": "x"}).status_code in {401, 403}, path
    answer = server.person.get("/campaigns/open", headers=foreign)
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
