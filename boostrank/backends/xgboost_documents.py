"""Models of XGBoost as JSON documents, for changes that XGBoost has no function for."""

from __future__ import annotations

import json
from typing import Any

from boostrank.backends.base import import_backend


def to_document(booster: Any) -> dict[str, Any]:
    """Return the model as the object that XGBoost writes to a JSON file."""
    document: dict[str, Any] = json.loads(booster.save_raw("json"))
    return document


def from_document(document: dict[str, Any]) -> Any:
    """Return the booster of an object such as :func:`to_document` returns."""
    # XGBoost would take the escape sequence of a character that is not ASCII for six characters of a name.
    text = json.dumps(document, ensure_ascii=False)
    return import_backend("xgboost").Booster(model_file=bytearray(text.encode()))
