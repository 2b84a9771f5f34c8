"""Models of XGBoost: boosters of estimators, and JSON documents, for changes that XGBoost has no function for."""

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


def as_booster(model: Any) -> Any:
    """The booster of a model: itself, or that of an estimator of XGBoost; TypeError for anything else."""
    xgb = import_backend("xgboost")
    booster = model.get_booster() if isinstance(model, xgb.XGBModel) else model
    if not isinstance(booster, xgb.Booster):
        raise TypeError(f"init_model must be a model of XGBoost; got {type(model).__name__}")
    return booster
