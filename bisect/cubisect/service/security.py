"""Who may read, who may change, and whom the server believes itself to be.

Rules, in the order in which they are applied:

1. The Host header must name this server. A page elsewhere that lets its own name resolve to the loopback address (DNS
   rebinding) sends its own name, and gets nothing.
2. On a loopback address anyone on this machine may read; on any other address reading needs the token as well.
3. Changing anything needs the token: as `Authorization: Bearer` header, or as session cookie *and* form field. A page
   elsewhere can make a browser send the cookie, but neither the header nor the field.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cubisect.errors import InputError

SESSION_COOKIE = "bisect_session"
FORM_FIELD = "form_token"

MIN_TOKEN_LENGTH = 16
"""Shorter tokens can be guessed over a network."""

OPEN_PATHS = ("/login", "/static/")
"""What may be read without a token on any address: it says nothing about campaigns."""

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Tell whether an address to listen on can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True)
class Access:
    """The rules of one server. `names` are the host names, beside `host`, under which it is reached."""

    token: str
    host: str = "127.0.0.1"
    names: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse a token that can be guessed."""
        if len(self.token) < MIN_TOKEN_LENGTH:
            raise InputError(
                f"the token has {len(self.token)} characters; it needs {MIN_TOKEN_LENGTH} or more: "
                f'--token "$(openssl rand -hex 16)"'
            )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    def knows_host(self, header: str) -> bool:
        """Tell whether a Host header names this server.

        Beside the given names, any literal address will do where the server is open to a network: it cannot be rebound.
        """
        name = _without_port(header).lower()
        if name in {"localhost", self.host.lower(), *self.names}:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.loopback

    def is_token(self, text: str | None) -> bool:
        """Tell whether `text` is the token, in a time that says nothing of where it differs."""
        return text is not None and hmac.compare_digest(text.encode(), self.token.encode())

    def has_bearer(self, headers: Headers) -> bool:
        """Tell whether the request carries the token in its Authorization header."""
        kind, _, value = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and self.is_token(value.strip())

    def has_session(self, headers: Headers) -> bool:
        """Tell whether the request carries the cookie that `/login` gave."""
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(SESSION_COOKIE)
        except CookieError:
            return False
        return morsel is not None and hmac.compare_digest(morsel.value.encode(), self.session.encode())

    def may_read(self, path: str, headers: Headers) -> bool:
        """Tell whether this request may see what is at `path`."""
        return self.loopback or path.startswith(OPEN_PATHS) or self.has_bearer(headers) or self.has_session(headers)

    @property
    def session(self) -> str:
        """The value of the session cookie: it proves that the token was known, and does not tell it."""
        return self._derived("session")

    @property
    def form_token(self) -> str:
        """What forms send along: no other page can read it."""
        return self._derived("form")

    def is_form_token(self, text: str | None) -> bool:
        """Tell whether a form field holds the form token."""
        return text is not None and hmac.compare_digest(text.encode(), self.form_token.encode())

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), f"bisect {purpose}".encode(), hashlib.sha256).hexdigest()


def access_for(host: str, token: str | None, fallback: str, names: Iterable[str] = ()) -> Access:
    """Return the rules for a server on `host`; `fallback` is the token on a loopback address when none was given.

    Raises:
        InputError: the address can be reached from elsewhere and there is no token, or it is too short.
    """
    if token is None and not is_loopback(host):
        raise InputError(
            f"--host {host}: other machines can reach this address, so it needs a token: "
            f'--token "$(openssl rand -hex 16)", or listen on 127.0.0.1'
        )
    return Access(token=token or fallback, host=host, names=frozenset(name.lower() for name in names))


class Gate:
    """Applies rules 1 and 2 to every request and adds the headers that keep a browser on this server alone."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or let it through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope["path"], headers)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await (refusal or self._app)(scope, receive, send_guarded)

    def _refusal(self, path: str, headers: Headers) -> PlainTextResponse | None:
        if not self._access.knows_host(headers.get("host", "")):
            return PlainTextResponse("This server is not known under that name.\n", 421)
        if not self._access.may_read(path, headers):
            return PlainTextResponse(
                "Open the address that `bisect serve` printed, or send the token: Authorization: Bearer TOKEN\n",
                401,
                {"WWW-Authenticate": "Bearer"},
            )
        return None


def _without_port(header: str) -> str:
    """Return the host of a Host header: ``localhost`` of ``localhost:8000``, ``::1`` of ``[::1]:8000``."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]
