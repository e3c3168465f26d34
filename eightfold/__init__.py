"""Eightfold: int8 inference hardware that agrees with the TFLite 8-bit spec bit for bit."""

from typing import TYPE_CHECKING, Any

from eightfold.common.first_use import on_first_use

if TYPE_CHECKING:
    from eightfold.common.errors import HardwareError, InputError
    from eightfold.run.report.result import OperatorReport, RunResult
    from eightfold.run.session import Session
    from eightfold.target.config import AcceleratorConfig

__version__: str

__all__ = [
    "AcceleratorConfig",
    "HardwareError",
    "InputError",
    "OperatorReport",
    "RunResult",
    "Session",
]

# So that `eightfold.target.config` stays light for hw.
_load, __dir__ = on_first_use(
    __name__,
    {
        "AcceleratorConfig": "target.config",
        "HardwareError": "common.errors",
        "InputError": "common.errors",
        "OperatorReport": "run.report.result",
        "RunResult": "run.report.result",
        "Session": "run.session",
    },
)


def __getattr__(name: str) -> Any:
    if name != "__version__":
        return _load(name)
    from importlib.metadata import version

    return version("eightfold")
