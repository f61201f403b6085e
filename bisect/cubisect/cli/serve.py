"""`bisect serve`: the live page and the HTTP API."""

from typing import Annotated

import typer
from rich.console import Console

from cubisect.cli.options import DEFAULT_DATABASE, Database
from cubisect.cli.output import say
from cubisect.errors import UnfitEnvironmentError


def serve(
    db: Database = str(DEFAULT_DATABASE),
    host: Annotated[str, typer.Option(help="Address to listen on; any but loopback demands --token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8765,
    token: Annotated[
        str | None, typer.Option(envvar="BISECT_TOKEN", help="What a client must show. [default: drawn, and printed]")
    ] = None,
) -> None:
    """Serve the record as a live page and an HTTP API: watch, start, stop and resume campaigns."""
    try:
        from cubisect.service import check_port, create_app, login_url  # noqa: PLC0415  (an extra)
        from cubisect.service import serve as run_server  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UnfitEnvironmentError(f"{error}; type pip install 'cubisect[service]'") from error
    app = create_app(db, token, host=host, create=True)
    check_port(app, port)
    say(Console(stderr=True), login_url(app, port))
    say(
        Console(stderr=True),
        "Ctrl-C ends it and stops the campaigns that it started; `bisect explore --resume` goes on.",
    )
    run_server(app, port)
