"""Query parameters of the map and of the table of trials."""

from typing import Annotated, Self

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, model_validator

from cubisect.errors import choices
from cubisect.service.failure_map import DEFAULT_X, DEFAULT_Y, MIN_SPAN, QUANTITIES, View

DIGITS = 8
"""Digits after the point of a coordinate in a link: finer than the narrowest view."""

Side = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]


class MapQuery(BaseModel):
    """What the map shows: the quantities of its sides, and the part of the plane in coordinates (all four or none)."""

    model_config = ConfigDict(extra="forbid")

    x: str = DEFAULT_X
    y: str = DEFAULT_Y
    x_low: Side | None = None
    x_high: Side | None = None
    y_low: Side | None = None
    y_high: Side | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for name in (self.x, self.y):
            if name not in QUANTITIES:
                raise ValueError(f"{name!r} cannot be a side of the map; allowed are {choices(QUANTITIES)}")
        corners = (self.x_low, self.x_high, self.y_low, self.y_high)
        if any(corner is None for corner in corners) and any(corner is not None for corner in corners):
            raise ValueError("give x_low, x_high, y_low and y_high, or none of them")
        view = self.view
        if view is not None and (view.x_high - view.x_low < MIN_SPAN / 2 or view.y_high - view.y_low < MIN_SPAN / 2):
            raise ValueError("x_low must be below x_high and y_low below y_high")
        return self

    @property
    def view(self) -> View | None:
        """The part of the plane, None for all of it."""
        if self.x_low is None or self.x_high is None or self.y_low is None or self.y_high is None:
            return None
        return View(x_low=self.x_low, x_high=self.x_high, y_low=self.y_low, y_high=self.y_high)

    def parameters(self, view: View | None) -> dict[str, str]:
        """Return the parameters that show another view with the same sides."""
        defaults = {"x": DEFAULT_X, "y": DEFAULT_Y}
        sides = {name: getattr(self, name) for name in defaults if getattr(self, name) != defaults[name]}
        if view is None:
            return sides
        corners = ("x_low", "x_high", "y_low", "y_high")
        return {**sides, **{corner: f"{round(getattr(view, corner), DIGITS):.12g}" for corner in corners}}


class PageQuery(MapQuery):
    """What the campaign's page shows: the map, and whether the table lists all trials or the failing ones."""

    trials: Annotated[str, Field(pattern="^(failing|all)$")] = "failing"

    def parameters(self, view: View | None) -> dict[str, str]:
        """Return the parameters that show another view, the table unchanged."""
        return {**super().parameters(view), **({} if self.trials == "failing" else {"trials": self.trials})}


MapQueryOf = Annotated[MapQuery, Query()]
PageQueryOf = Annotated[PageQuery, Query()]
