"""Drivers under test: the real one (`cuda`) and simulated ones (`sim:<fault model>`)."""
