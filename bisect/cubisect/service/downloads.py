"""What can be taken away: trials as CSV, the report, a reproducer.

All is made in memory: no request reaches the file system.
"""

import io
import zipfile
from collections.abc import Iterable, Mapping

from fastapi import APIRouter
from fastapi.responses import Response

from cubisect.outcome import Outcome
from cubisect.report.pages import Report
from cubisect.reproduce.case import Case, Tally
from cubisect.reproduce.export import files_of, timeout_of
from cubisect.service.api import Name, Number
from cubisect.service.context import ServiceOf, download_headers
from cubisect.trial import Purpose

router = APIRouter(include_in_schema=False)

ZIP_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of every file in a reproducer: equal trials give equal archives."""


@router.get("/campaigns/{name}/trials.csv")
def trials_csv(service: ServiceOf, name: Name) -> Response:
    """Return every finished trial, every column, as `bisect export` writes it to CSV."""
    text = service.records.table(name).to_csv(index=False)
    return Response(text, media_type="text/csv", headers=download_headers(f"{name}.csv"))


@router.get("/campaigns/{name}/report.html")
def report_html(service: ServiceOf, name: Name) -> Response:
    """Return the report as one self-contained page, to be attached to a bug report."""
    text = Report(service.records.recorded(name), service.records.frame(name)).html()
    return Response(text, media_type="text/html", headers=download_headers(f"{name}-report.html"))


@router.get("/campaigns/{name}/report.md")
def report_markdown(service: ServiceOf, name: Name) -> Response:
    """Return the report as Markdown, to be pasted into a bug tracker."""
    text = Report(service.records.recorded(name), service.records.frame(name)).markdown()
    return Response(text, media_type="text/markdown", headers=download_headers(f"{name}-report.md"))


@router.get("/campaigns/{name}/trials/{number}/reproducer.zip")
def reproducer(service: ServiceOf, name: Name, number: Number) -> Response:
    """Return the stand-alone programs that show a trial's failure, as `bisect reproduce` writes them."""
    record = service.records.record(name, number)
    snapshot = service.records.snapshot(name)
    case = Case.of(
        record,
        environment=service.records.environment_of(record),
        batch_runs=_tally(snapshot.of_parent(number, Purpose.REPLICATE)),
        control_runs=_tally(snapshot.of_parent(number, Purpose.CONTROL)),
    )
    folder = f"{name}-{number}"
    archive = _zipped(folder, files_of(case, timeout_s=timeout_of(record)))
    return Response(archive, media_type="application/zip", headers=download_headers(f"{folder}.zip"))


def _tally(counts: Mapping[str, int]) -> Tally:
    outcomes: Iterable[Outcome] = (Outcome(outcome) for outcome, count in counts.items() for _ in range(count))
    return Tally.of(outcomes)


def _zipped(folder: str, files: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(f"{folder}/{file}", ZIP_DATE), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
