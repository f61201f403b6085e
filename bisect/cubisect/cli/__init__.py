"""The `bisect` command: parse, call, print."""

import sys

from cubisect.errors import BisectError, ExitCode


def main() -> None:
    """Run the command line; every expected error is one line on stderr and an exit code of `ExitCode`."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    import typer  # noqa: PLC0415  (fast to fail when a dependency is missing)

    from cubisect.cli.app import app  # noqa: PLC0415

    try:
        return int(app(arguments, prog_name="bisect", standalone_mode=False) or ExitCode.DONE)
    except BisectError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        message = error.format_message().rstrip(".")  # none with no arguments at all, when the help was shown
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "bisect"
        return _fail(f"{message}; type `{command} --help`", ExitCode.BAD_INPUT) if message else ExitCode.BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):  # while the command is still being loaded
        return _fail("interrupted", ExitCode.INTERRUPTED)


def _fail(message: str, code: ExitCode) -> int:
    sys.stderr.write(f"bisect: {message}\n")
    return code
