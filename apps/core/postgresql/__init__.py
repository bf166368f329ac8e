"""Django's PostgreSQL backend with a pool that gets over a restarted server at once."""
