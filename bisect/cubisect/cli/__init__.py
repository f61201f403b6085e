"""The `bisect` command: parse, call, print."""
