"""Public names of a package that load their module when they are first used."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__``.

    ``package``: the package's ``__name__``; ``modules``: the module within it that has each public
    name.
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return load, lambda: list(modules)
