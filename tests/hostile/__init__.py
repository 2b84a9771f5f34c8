"""Hostile inputs for every entry point: catalogues of them, and what each means."""
