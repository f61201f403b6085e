"""The HTTP API and its page."""
