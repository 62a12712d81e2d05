"""A database as the store needs it, SQLite or PostgreSQL: connections, transactions and the tables
themselves; what a row means is known in the next room."""
