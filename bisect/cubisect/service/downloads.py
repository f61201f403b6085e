"""What can be taken away: trials as CSV, the report, a reproducer."""

from fastapi import APIRouter
from fastapi.responses import Response

from cubisect.service.api import Name
from cubisect.service.context import ServiceOf, download_headers

router = APIRouter(include_in_schema=False)


@router.get("/campaigns/{name}/trials.csv")
def trials_csv(service: ServiceOf, name: Name) -> Response:
    """Return every finished trial, every column, as CSV."""
    text = service.records.frame(name).to_csv(index=False)
    return Response(text, media_type="text/csv", headers=download_headers(f"{name}.csv"))
