"""The record: SQLAlchemy models, migrations, import and export."""
