"""Eightfold: int8 inference hardware that agrees with the TFLite 8-bit spec bit for bit."""

from typing import TYPE_CHECKING, Any

from eightfold.first_use import on_first_use

if TYPE_CHECKING:
    from eightfold.config import AcceleratorConfig
    from eightfold.errors import HardwareError, InputError
    from eightfold.report import OperatorReport, RunResult
    from eightfold.session import Session

__version__: str

__all__ = [
    "AcceleratorConfig",
    "HardwareError",
    "InputError",
    "OperatorReport",
    "RunResult",
    "Session",
]

# So that `eightfold.config` stays light for hw.
_load, __dir__ = on_first_use(
    __name__,
    {
        "AcceleratorConfig": "config",
        "HardwareError": "errors",
        "InputError": "errors",
        "OperatorReport": "report",
        "RunResult": "report",
        "Session": "session",
    },
)


def __getattr__(name: str) -> Any:
    if name != "__version__":
        return _load(name)
    from importlib.metadata import version

    return version("eightfold")
