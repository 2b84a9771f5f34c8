"""Public names of a package whose modules are imported when the names are first used (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def lazy_names(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make the functions ``__getattr__`` and ``__dir__`` of a package with public names that are imported on use.

    A package needs them if its modules are many, and most users need few of them. Type checkers read imports of the
    same names under ``if TYPE_CHECKING``. No module may have the name of one of its public names: its import would set
    the attribute of the package to the module.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    modules : Mapping of str to tuple of str
        Names of modules of the package, and the public names that each of them has.

    Examples
    --------
    >>> get, names = lazy_names("boostrank.metrics", {"ndcg": ("ndcg_score", "dcg_score")})
    >>> get("dcg_score").__module__, "dcg_score" in names()
    ('boostrank.metrics.ndcg', True)
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{module_of[name]}"), name)
        # The next use finds the attribute, and does not call this function.
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return get, names
