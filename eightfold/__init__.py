"""Eightfold: int8 inference hardware that agrees with the TFLite 8-bit spec bit for bit."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eightfold.config import AcceleratorConfig
    from eightfold.errors import InputError
    from eightfold.report import RunResult
    from eightfold.session import Session

__all__ = ["AcceleratorConfig", "InputError", "RunResult", "Session"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that `eightfold.config` stays light for hw."""
    modules = {
        "AcceleratorConfig": "config",
        "InputError": "errors",
        "RunResult": "report",
        "Session": "session",
    }
    if name not in modules:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{modules[name]}"), name)
