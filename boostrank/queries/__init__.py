"""Queries as segments of rows, and what is defined on them: ranked documents and weights."""
