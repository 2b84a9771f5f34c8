"""Methods that can also be called on the class, as class methods that make an instance."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any


class of_instance_or_class:  # noqa: N801 - the name of a decorator
    """A method that can also be called on the class, and then makes an instance."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: Any) -> Callable[..., Any]:
        if instance is not None:
            return MethodType(self.method, instance)

        @functools.wraps(self.method)
        def call(*arguments: Any, **options: Any) -> Any:
            # A subclass calls the method of its base class with the instance.
            if arguments and isinstance(arguments[0], owner):
                return self.method(*arguments, **options)
            try:
                made = owner()
            except TypeError as error:
                name = f"{owner.__name__}(...).{self.method.__name__}"
                raise TypeError(f"call {name}, on an instance: {error}") from None
            return self.method(made, *arguments, **options)

        return call
