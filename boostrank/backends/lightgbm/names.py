"""The names of LightGBM's parameters and features."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from boostrank.backends.base import import_backend
from boostrank.backends.features import NameCode

#: Names of features with these characters are errors, or are written to model files as other names.
FEATURE_NAMES = NameCode(r"\s\x00-\x1f\",:\[\]{}=")
#: More bytes than the table of all names takes, which are 7,000 in LightGBM 4.7.
_BUFFER_BYTES = 2**20


@cache
def canonical_names() -> Mapping[str, str]:
    """Canonical names of the parameters by name and alias, from the C function ``LGBM_DumpParamAliases`` of LightGBM.

    Its Python package has this table only under a private name.
    """
    folder = Path(str(import_backend("lightgbm").__file__)).parent
    library = ctypes.CDLL(str(next(path for path in folder.rglob("*lib_lightgbm*") if path.is_file())))
    buffer, n_bytes = ctypes.create_string_buffer(_BUFFER_BYTES), ctypes.c_int64()
    library.LGBM_DumpParamAliases(ctypes.c_int64(len(buffer)), ctypes.byref(n_bytes), buffer)
    table = json.loads(buffer.value.decode())
    # The last two are parameters of LightGBM's estimators.
    aliases = {alias: name for name, others in table.items() for alias in (name, *others)}
    return {**aliases, "eval_metric": "metric", "callbacks": "callbacks"}
