"""Speaks to the databases, SQLite and PostgreSQL: connections, transactions, schemas. ``tables``
knows what the rows mean."""
