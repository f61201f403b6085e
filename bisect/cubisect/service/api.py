"""The HTTP API: the same records and actions as the pages, as JSON. Described at `/openapi.json`."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from cubisect.outcome import Outcome
from cubisect.service.context import ServiceOf, token_header
from cubisect.service.failure_map import QUANTITIES, failure_map
from cubisect.service.models import (
    CampaignModel,
    MapModel,
    ProblemModel,
    ProgressModel,
    TrialDetailModel,
    TrialModel,
)
from cubisect.service.requests import ResumeRequest, StartRequest
from cubisect.service.views import MapQueryOf
from cubisect.trial import Purpose

EVENT_INTERVAL_S = 1.0
"""How often the store is asked for progress while a page is open."""

MAX_LISTED = 1000

Name = Annotated[str, Path(description="name of a campaign", max_length=200)]
Number = Annotated[int, Path(ge=0, lt=1 << 53, description="number of a trial in its campaign")]

_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"model": ProblemModel, "description": "no such campaign or trial"}}
_CROWDED: dict[int | str, dict[str, Any]] = {503: {"model": ProblemModel, "description": "too many streams are open"}}
_REFUSED: dict[int | str, dict[str, Any]] = {
    401: {"model": ProblemModel, "description": "the token is missing or wrong"},
    409: {"model": ProblemModel, "description": "it cannot be done now; the message says why"},
}


def known_campaign(service: ServiceOf, name: Name) -> str:
    """Return the name of a recorded campaign: an event stream can no longer answer that there is none."""
    return service.records.recorded(name).name


async def follower(service: ServiceOf) -> AsyncIterator[None]:
    """Hold a place among the open event streams until the stream ends."""
    with service.followers.another():
        yield


_INVALID: dict[int | str, dict[str, Any]] = {422: {"model": ProblemModel, "description": "a value is not allowed"}}

router = APIRouter(prefix="/api", tags=["campaigns"], responses=_INVALID)


@router.get("/campaigns")
def list_campaigns(service: ServiceOf) -> list[ProgressModel]:
    """Return every campaign, the latest first."""
    return service.records.campaigns()


@router.post("/campaigns", status_code=201, responses=_REFUSED, dependencies=[Depends(token_header)])
def start_campaign(service: ServiceOf, request: StartRequest) -> CampaignModel:
    """Start a campaign as a child process of the server."""
    return service.records.campaign(service.start(request))


@router.get("/campaigns/{name}", responses=_UNKNOWN)
def get_campaign(service: ServiceOf, name: Name) -> CampaignModel:
    """Return one campaign."""
    return service.records.campaign(name)


@router.post("/campaigns/{name}/stop", responses={**_UNKNOWN, **_REFUSED}, dependencies=[Depends(token_header)])
def stop_campaign(service: ServiceOf, name: Name) -> CampaignModel:
    """Stop a campaign that this server runs; what had finished is saved."""
    service.stop(name)
    return service.records.campaign(name)


@router.post("/campaigns/{name}/resume", responses={**_UNKNOWN, **_REFUSED}, dependencies=[Depends(token_header)])
def resume_campaign(service: ServiceOf, name: Name, request: ResumeRequest) -> CampaignModel:
    """Go on with a recorded campaign as a child process of the server."""
    service.resume(name, request)
    return service.records.campaign(name)


@router.get(
    "/campaigns/{name}/events",
    response_class=EventSourceResponse,
    responses={**_UNKNOWN, **_CROWDED},
    dependencies=[Depends(follower)],
)
async def follow_campaign(
    service: ServiceOf, name: Annotated[str, Depends(known_campaign)], request: Request
) -> AsyncIterator[ServerSentEvent]:
    """Send `progress` whenever it changes, and `end` when the budget is spent and nothing runs."""
    last: ProgressModel | None = None
    while not await request.is_disconnected():
        progress = await asyncio.to_thread(service.records.progress, name)
        if progress != last:
            yield ServerSentEvent(event="progress", data=progress)
            last = progress
        if progress.complete and not progress.running and not progress.running_here:
            yield ServerSentEvent(event="end", data=progress)
            return
        await asyncio.sleep(EVENT_INTERVAL_S)


@router.get("/campaigns/{name}/map", responses=_UNKNOWN)
def get_map(service: ServiceOf, name: Name, query: MapQueryOf) -> MapModel:
    """Return the failure map: trials counted by cell and outcome, for the part of the plane that is asked for."""
    snapshot = service.records.snapshot(name)
    x, y = QUANTITIES[query.x], QUANTITIES[query.y]
    drawn = failure_map(snapshot.points(x, y), x, y, query.view)
    return MapModel.model_validate(
        {
            "simulated": snapshot.simulated,
            "x": x.name,
            "y": y.name,
            "view": drawn.view,
            "columns": drawn.columns,
            "rows": drawn.rows,
            "trials": drawn.trials,
            "outside": drawn.outside,
            "cells": drawn.cells,
        }
    )


@router.get("/campaigns/{name}/trials", responses=_UNKNOWN)
def list_trials(
    service: ServiceOf,
    name: Name,
    outcome: Annotated[list[Outcome] | None, Query(description="only these outcomes")] = None,
    purpose: Annotated[list[Purpose] | None, Query(description="only these purposes")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 50,
) -> list[TrialModel]:
    """Return the latest trials of a campaign."""
    return service.records.trials(name, outcomes=outcome, purposes=purpose, limit=limit)


@router.get("/campaigns/{name}/trials/{number}", responses=_UNKNOWN)
def get_trial(service: ServiceOf, name: Name, number: Number) -> TrialDetailModel:
    """Return one trial with its evidence."""
    return service.records.trial(name, number)
