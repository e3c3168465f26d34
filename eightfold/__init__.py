"""Eightfold: int8 inference hardware that agrees with the TFLite 8-bit spec bit for bit."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eightfold.config import AcceleratorConfig
    from eightfold.errors import HardwareError, InputError
    from eightfold.report import OperatorReport, RunResult
    from eightfold.session import Session

__all__ = [
    "AcceleratorConfig",
    "HardwareError",
    "InputError",
    "OperatorReport",
    "RunResult",
    "Session",
]

_MODULES = {
    "AcceleratorConfig": "config",
    "HardwareError": "errors",
    "InputError": "errors",
    "OperatorReport": "report",
    "RunResult": "report",
    "Session": "session",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that `eightfold.config` stays light for hw."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
