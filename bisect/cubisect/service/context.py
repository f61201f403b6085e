"""What every request needs: the records, the campaigns that this server runs, and who may change them."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import parse_qsl, quote

from fastapi import Depends, HTTPException, Request

from cubisect.errors import InputError
from cubisect.service.processes import Launcher
from cubisect.service.records import Records
from cubisect.service.requests import ResumeRequest, StartRequest
from cubisect.service.security import FORM_FIELD, Access

START_WAIT_S = 30.0
"""How long a started campaign may take to appear in the database: the driver is looked for first."""

POLL_S = 0.1
MAX_FOLLOWERS = 100
"""Open event streams in all: many more than people look, few enough that a runaway program cannot stall the page."""

MAX_FORM_BYTES = 1 << 16


class Followers:
    """Counts the open event streams. Used from the event loop alone."""

    def __init__(self) -> None:
        self._open = 0

    @contextmanager
    def another(self) -> Iterator[None]:
        """Hold the place of one stream.

        Raises:
            HTTPException: there are `MAX_FOLLOWERS` already.
        """
        if self._open >= MAX_FOLLOWERS:
            raise HTTPException(503, f"{MAX_FOLLOWERS} event streams are open; close some, or ask without /events")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1


@dataclass(frozen=True, kw_only=True)
class Service:
    """One server."""

    records: Records
    launcher: Launcher
    access: Access
    followers: Followers = field(default_factory=Followers)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def start(self, request: StartRequest) -> str:
        """Start a campaign, wait until it is recorded, and return its name.

        Raises:
            InputError: the name is taken, or the campaign could not start; the message is the command's own.
        """
        named = request.named(self.now())
        assert named.name is not None
        if self.records.exists(named.name):
            raise InputError(f"there is a campaign {named.name} already; resume it, or choose another name")
        self.launcher.start(named.name, named.arguments())
        self._await_record(named.name)
        return named.name

    def resume(self, name: str, request: ResumeRequest) -> None:
        """Go on with a recorded campaign.

        Raises:
            InputError: there is none of that name, or this server runs it already.
        """
        recorded = self.records.recorded(name)
        self.launcher.start(recorded.name, request.arguments(recorded.name))
        self.records.count_anew()

    def stop(self, name: str) -> None:
        """Stop a campaign that this server runs.

        Raises:
            InputError: there is none of that name, or this server does not run it.
        """
        self.launcher.stop(self.records.recorded(name).name)
        self.records.count_anew()

    def _await_record(self, name: str) -> None:
        deadline = time.monotonic() + START_WAIT_S
        while not self.records.exists(name):
            if not self.launcher.running(name) and not self.records.exists(name):
                raise InputError(self.launcher.failure(name) or f"campaign {name} ended before it was recorded")
            if time.monotonic() > deadline:
                raise InputError(f"campaign {name} is not recorded after {START_WAIT_S:g} s; type `bisect doctor`")
            time.sleep(POLL_S)


def service_of(request: Request) -> Service:
    """Return the server that a request came to."""
    service: Service = request.app.state.service
    return service


ServiceOf = Annotated[Service, Depends(service_of)]


def may_change(request: Request) -> bool:
    """Tell whether the sender has signed in."""
    return service_of(request).access.has_session(request.headers)


def token_header(request: Request) -> None:
    """Refuse a request that changes something without the token in its header."""
    if not service_of(request).access.has_bearer(request.headers):
        raise HTTPException(
            401, "changing anything needs the token; send Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"}
        )


async def form_fields(request: Request) -> dict[str, str]:
    """Return the fields of a submitted form."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM_BYTES:
            raise HTTPException(413, f"a form has at most {MAX_FORM_BYTES} bytes")
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=64))
    except ValueError as error:
        raise HTTPException(400, "the form cannot be read") from error


async def changing_form(request: Request) -> Mapping[str, str]:
    """Return the fields of a form that changes something; refuse it unless cookie and form token are right."""
    fields = await form_fields(request)
    access = service_of(request).access
    if not (access.has_session(request.headers) and access.is_form_token(fields.pop(FORM_FIELD, None))):
        raise HTTPException(403, "changing anything needs the token: sign in, then send the form again")
    return fields


ChangingForm = Annotated[Mapping[str, str], Depends(changing_form)]


def campaign_path(name: str, rest: str = "") -> str:
    """Return the path of a campaign's page, or of what is below it."""
    return f"/campaigns/{quote(name, safe='')}{rest}"


def download_headers(filename: str) -> dict[str, str]:
    """Return the headers of a download, its name reduced to harmless characters."""
    harmless = re.sub(r"[^A-Za-z0-9._-]+", "-", filename)
    return {"Content-Disposition": f'attachment; filename="{harmless}"'}
