"""The FastAPI application: rooms put together, errors told in one line, and how it is served."""

import secrets
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from cubisect import __version__
from cubisect.errors import BisectError, InputError, UnfitEnvironmentError
from cubisect.service import api, downloads, pages
from cubisect.service.context import Service
from cubisect.service.processes import Launcher
from cubisect.service.records import Records, UnknownRecordError
from cubisect.service.security import Access, Gate, access_for
from cubisect.store import Store

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765

SHUTDOWN_GRACE_S = 2
"""How long open event streams may hold up the end of the server."""


def create_app(
    store_url: str,
    token: str | None = None,
    *,
    host: str = DEFAULT_HOST,
    names: Iterable[str] = (),
    create: bool = False,
    launcher: Launcher | None = None,
) -> FastAPI:
    """Return the application over one database.

    `host` is the address that it will be served on; `names` are further host names under which it is reached. Without a
    `token` one is drawn, which only a loopback address may have. `create` makes a missing SQLite file. `launcher` runs
    campaigns; by default through the command line of this installation.

    Raises:
        StoreError: the database cannot be opened.
        InputError: other machines can reach `host` and there is no token.
    """
    access = access_for(host, token, secrets.token_urlsafe(24), names)
    launcher = launcher or Launcher(store_url)
    store = Store.open(store_url, create=create)
    service = Service(records=Records(store, launcher), launcher=launcher, access=access)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        launcher.close()
        store.close()

    app = FastAPI(
        title="bisect",
        version=__version__,
        summary="Campaigns that search for failures of cuMemcpyBatchAsync",
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service = service
    app.include_router(api.router)
    app.include_router(downloads.router)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    app.add_middleware(Gate, access=access)
    _add_error_handlers(app)
    return app


def login_url(app: FastAPI, port: int) -> str:
    """Return the address that signs its reader in; whoever has it can start and stop campaigns."""
    access: Access = app.state.service.access
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(access.host, access.host)  # noqa: S104  (not bound, only shown)
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/login?{urlencode({'token': access.token})}"


def check_port(app: FastAPI, port: int) -> None:
    """See that nobody else listens there.

    Raises:
        UnfitEnvironmentError: somebody does, or the address is none of this machine.
    """
    access: Access = app.state.service.access
    try:
        with socket.create_server(
            (access.host, port), family=socket.AF_INET6 if ":" in access.host else socket.AF_INET
        ):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        raise UnfitEnvironmentError(f"cannot listen on {access.host}:{port} ({why}); try another --port") from error


def serve(app: FastAPI, port: int = DEFAULT_PORT) -> None:
    """Serve the application until interrupted; campaigns that it started are stopped then, and can be resumed.

    Requests are not logged: the address that signs in holds the token.
    """
    access: Access = app.state.service.access
    uvicorn.run(
        app,
        host=access.host,
        port=port,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
    )


def _add_error_handlers(app: FastAPI) -> None:
    def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _problem(request, error.status_code, str(error.detail), dict(error.headers or {}))

    def unknown(request: Request, error: Exception) -> Response:
        return _problem(request, 404, str(error))

    def refused(request: Request, error: Exception) -> Response:
        return _problem(request, 409 if isinstance(error, InputError) else 503, str(error))

    def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError | ValidationError)
        problems = "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in error.errors())
        return _problem(request, 422, problems)

    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(UnknownRecordError, unknown)
    app.add_exception_handler(BisectError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(ValidationError, invalid)


def _problem(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error: as JSON below /api, as a page elsewhere."""
    if request.url.path.startswith("/api/"):
        return JSONResponse({"detail": detail}, status, headers)
    titles = {401: "Sign in first", 403: "Sign in first", 404: "Not found", 409: "Not now"}
    response = pages.page(
        request, "problem.html", status=status, title=titles.get(status, "That did not work"), detail=detail
    )
    response.headers.update(headers or {})
    return response
