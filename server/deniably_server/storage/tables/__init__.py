"""One module for each table: functions that run SQL for both databases, within a transaction that
the caller has begun."""
