"""Ranking: pure functions of arrays, from a query to the memories that answer it."""
