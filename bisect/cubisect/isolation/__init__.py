"""One fresh process per trial: start, watch, end, and say what was seen."""

from cubisect.isolation.lane import Lane, LaneOptions

__all__ = ["Lane", "LaneOptions"]
