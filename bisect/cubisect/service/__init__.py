"""HTTP API and the live page over the store (extra `service`)."""

from cubisect.service.app import DEFAULT_HOST, DEFAULT_PORT, check_port, create_app, login_url, serve

__all__ = ["DEFAULT_HOST", "DEFAULT_PORT", "check_port", "create_app", "login_url", "serve"]
