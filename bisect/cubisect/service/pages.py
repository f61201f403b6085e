"""The pages: rendered on the server, complete without a script."""

import shlex
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.templating import Jinja2Templates

from cubisect.errors import InputError
from cubisect.outcome import FAILURES
from cubisect.report.environments import flat
from cubisect.report.terminal import evidence_rows, size
from cubisect.search.samplers import SAMPLERS
from cubisect.service.api import Name, Number
from cubisect.service.context import ChangingForm, Service, ServiceOf, campaign_path, form_fields, may_change
from cubisect.service.drawing import GLYPHS, draw
from cubisect.service.failure_map import QUANTITIES, View, failure_map
from cubisect.service.models import CampaignModel, ProgressModel, TrialDetailModel
from cubisect.service.requests import DRIVERS, ResumeRequest, start_request_of_form
from cubisect.service.security import SESSION_COOKIE
from cubisect.service.views import PageQuery, PageQueryOf
from cubisect.space import AXES, Range, Space
from cubisect.workloads import WORKLOADS

LISTED_TRIALS = 50

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

templates = Jinja2Templates(directory=Path(__file__).parent / "templates")
templates.env.globals.update(glyphs=GLYPHS, failures=sorted(FAILURES), version=version("cubisect"), size=size)

SEE_OTHER = 303

KIB = 1024

_BY_SIZE = ("count_below_", "bytes_below_", "crossings_")


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Return a page; every one knows whether its reader has signed in."""
    signed_in = may_change(request)
    form_token = request.app.state.service.access.form_token if signed_in else ""
    common = {"may_change": signed_in, "form_token": form_token, "state": state_text, "moment": moment_text}
    return templates.TemplateResponse(request, template, {**common, **values}, status_code=status)


@router.get("/")
def campaigns(request: Request, service: ServiceOf) -> Response:
    """List the campaigns."""
    return page(request, "campaigns.html", campaigns=service.records.campaigns())


@router.get("/campaigns/{name}")
def campaign(request: Request, service: ServiceOf, name: Name, query: PageQueryOf) -> Response:
    """Show a campaign: progress, failure map, and the trials in view."""
    shown = service.records.campaign(name)
    return page(
        request,
        "campaign.html",
        campaign=shown,
        live=not shown.complete or shown.running > 0 or shown.running_here,
        asked=_asked(shown),
        varied=_varied(shown),
        environment=flat(shown.environment),
        **_map_and_trials(service, name, query),
    )


def _map_and_trials(service: Service, name: str, query: PageQuery) -> dict[str, Any]:
    """Return what the map and the table show."""
    snapshot = service.records.snapshot(name)
    x, y = QUANTITIES[query.x], QUANTITIES[query.y]
    points = snapshot.points(x, y)
    drawn = failure_map(points, x, y, query.view)

    def url(view: View | None, **changed: str) -> str:
        return f"{campaign_path(name)}?{urlencode({**query.parameters(view), **changed})}"

    drawing = draw(drawn, view_url=url, trial_url=lambda number: campaign_path(name, f"/trials/{number}"))
    only_failing = query.trials == "failing"
    rows, total = service.records.latest(
        name, snapshot, points, query.view, only_failing=only_failing, limit=LISTED_TRIALS
    )
    return {
        "here": campaign_path(name),
        "quantities": QUANTITIES,
        "map": drawn,
        "drawing": drawing,
        "moves": _moves(drawn.view, url),
        "zoomed": query.view is not None,
        "only_failing": only_failing,
        "filters": [(shown, url(query.view, trials=shown), shown == query.trials) for shown in ("failing", "all")],
        "trials": rows,
        "trial_total": total,
        "controls": snapshot.controls(),
    }


def _moves(view: View, url: Any) -> list[tuple[str, str, str, str]]:
    """Return the buttons above the map: key, label, sign and where each leads."""
    return [
        ("in", "Zoom in", "+", url(view.around(*view.centre, 0.5))),
        ("out", "Zoom out", "−", url(view.around(*view.centre, 2.0))),
        ("left", "Move left", "←", url(view.moved(-0.25, 0.0))),
        ("right", "Move right", "→", url(view.moved(0.25, 0.0))),
        ("up", "Move up", "↑", url(view.moved(0.0, 0.25))),
        ("down", "Move down", "↓", url(view.moved(0.0, -0.25))),
        ("all", "Show all", "all", url(None)),
    ]


def _asked(shown: CampaignModel) -> dict[str, str]:
    fixed = Space.from_json(shown.space).base.departures()
    return {
        "driver": shown.driver,
        "sampler": shown.sampler,
        "seed": str(shown.seed),
        "created": moment_text(shown.created_at),
        "other axes": ", ".join(f"{name}={value}" for name, value in fixed.items())
        or "every other axis at its default",
    }


def _varied(shown: CampaignModel) -> dict[str, str]:
    varied = Space.from_json(shown.space).varied
    return {
        name: f"{quantity_text(name, domain.low)} to {quantity_text(name, domain.high)}"
        if isinstance(domain, Range)
        else ", ".join(map(str, domain))
        for name, domain in varied.items()
    }


@router.get("/campaigns/{name}/trials/{number}")
def trial(request: Request, service: ServiceOf, name: Name, number: Number) -> Response:
    """Show one trial: how it ended, its control, the evidence, and how to run it again."""
    record, detail = service.records.record(name, number), service.records.trial(name, number)
    features = {feature: quantity_text(feature, value) for feature, value in detail.features.items()}
    return page(
        request,
        "trial.html",
        campaign=service.records.campaign(name),
        trial=detail,
        commands=_commands(detail),
        ending=_ending(detail),
        departures=_point({axis: value for axis, value in detail.point.items() if value != AXES[axis].default})
        or {"every axis": "at its default"},
        point=_point(detail.point),
        batch={name: text for name, text in features.items() if not name.startswith(_BY_SIZE)},
        by_size={name: text for name, text in features.items() if name.startswith(_BY_SIZE)},
        children=service.records.snapshot(name).children(number),
        seen=dict(evidence_rows(record.evidence)) if record.evidence else {},
        environment=flat(detail.environment),
        elsewhere=record.environment_id is not None,
    )


def _commands(detail: TrialDetailModel) -> list[tuple[str, str]]:
    """Return the commands that go on from a trial, and what each is for."""
    again = [(detail.replay, "the same batch again")]
    if detail.outcome not in FAILURES:
        return again
    ref = shlex.quote(detail.trial)
    return [
        *again,
        (f"bisect control {ref}", "the same batch, one copy per descriptor"),
        (f"bisect isolate {ref}", "which factors does the failure need?"),
        (f"bisect shrink {ref}", "the smallest trial that still fails the same way"),
    ]


def _ending(detail: TrialDetailModel) -> dict[str, Any]:
    facts = {
        "signature": detail.signature and f"{detail.signature_title} ({detail.signature})",
        "CUDA error": detail.cuda_error,
        "fail index": detail.fail_index,
        "GPU": detail.gpu,
        "purpose": detail.purpose,
        "origin": detail.origin,
        "method": "one batch call" if detail.method == "batch" else "one copy call per descriptor",
        "seed": detail.seed,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _point(values: Mapping[str, Any]) -> dict[str, str]:
    return {axis: quantity_text(axis, value) for axis, value in values.items()}


def quantity_text(name: str, value: Any) -> str:
    """Return the value of an axis or a feature: bytes exactly, and in the unit that a person would use."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    if not (name.startswith("bytes_below_") or (name in QUANTITIES and QUANTITIES[name].unit == "bytes")):
        return text
    return f"{text} B ({size(value)})" if value >= KIB else f"{text} B"


@router.get("/start")
def start_page(request: Request) -> Response:
    """Show the form that starts a campaign."""
    return _start_form(request, {})


def _start_form(request: Request, form: Mapping[str, str], error: str | None = None) -> Response:
    return page(
        request,
        "start.html",
        status=200 if error is None else 422,
        form=form,
        error=error,
        drivers=DRIVERS,
        samplers=SAMPLERS,
        workloads=WORKLOADS,
        axes=AXES.values(),
    )


@router.post("/start")
def start(request: Request, service: ServiceOf, form: ChangingForm) -> Response:
    """Start a campaign and show it; on an error show the form again, with what is wrong."""
    try:
        name = service.start(start_request_of_form(form))
    except ValidationError as error:
        return _start_form(request, form, validation_text(error))
    except InputError as error:
        return _start_form(request, form, str(error))
    return RedirectResponse(campaign_path(name), SEE_OTHER)


@router.post("/campaigns/{name}/stop")
def stop(service: ServiceOf, name: Name, form: ChangingForm) -> Response:  # noqa: ARG001  (the form proves the sender)
    """Stop a campaign that this server runs."""
    service.stop(name)
    return RedirectResponse(campaign_path(name), SEE_OTHER)


@router.post("/campaigns/{name}/resume")
def resume(service: ServiceOf, name: Name, form: ChangingForm) -> Response:
    """Go on with a campaign."""
    service.resume(name, ResumeRequest.model_validate({key: value for key, value in form.items() if value}))
    return RedirectResponse(campaign_path(name), SEE_OTHER)


@router.get("/login")
def login_page(request: Request, service: ServiceOf, token: str | None = None) -> Response:
    """Sign in with the address that `bisect serve` printed, or show the form."""
    return page(request, "login.html", error=None) if token is None else _sign_in(request, service, token)


@router.post("/login")
async def login(request: Request, service: ServiceOf) -> Response:
    """Sign in with a token."""
    return _sign_in(request, service, (await form_fields(request)).get("token", ""))


def _sign_in(request: Request, service: Service, token: str) -> Response:
    if not service.access.is_token(token):
        return page(request, "login.html", status=401, error="That is not the token of this server.")
    response = RedirectResponse("/", SEE_OTHER)
    response.set_cookie(
        SESSION_COOKIE, service.access.session, httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )
    return response


@router.get("/compare")
def compare(request: Request, service: ServiceOf, a: str | None = None, b: str | None = None) -> Response:
    """Show what changed between two campaigns."""
    comparison = service.records.side_by_side(a, b) if a and b else None
    names = [listed.name for listed in service.records.campaigns()]
    return page(request, "compare.html", names=names, a=a, b=b, comparison=comparison)


def state_text(progress: ProgressModel) -> str:
    """Return in words where a campaign stands."""
    if progress.running_here or progress.running:
        return "running" if progress.running_here else "running in another process"
    return "complete" if progress.complete else "stopped"


def moment_text(moment: datetime | None) -> str:
    """Return a time as it is shown."""
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def validation_text(error: ValidationError) -> str:
    """Return what is wrong with the fields of a request, in one line."""
    problems = error.errors(include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, p['loc'])) or 'form'}: {p['msg']}" for p in problems)
