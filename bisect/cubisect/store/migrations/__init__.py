"""Alembic's revisions of the schema, applied when a database is opened."""
