"""One fresh process per trial: start, watch, end, and say what was seen."""
