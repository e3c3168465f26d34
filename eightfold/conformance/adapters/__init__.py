"""Other people's implementations behind a few lines of Python each.

An *adapter* says how one implementation is asked. `stream` and `memory_mapped` have RTL in a
simulator, `model` anything that computes whole models; `builtin` are those that come with the kit.
`formulas` say what a field is in terms of columns, `bits` and `registers` where it goes, `rtl` has
what adapters of RTL share.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eightfold.conformance.adapters.adapter import ModelRunner, UnitAdapter
    from eightfold.conformance.adapters.memory import Array, Memory
    from eightfold.conformance.adapters.memory_mapped import MemoryMappedAdapter
    from eightfold.conformance.adapters.model import ModelAdapter, Refused
    from eightfold.conformance.adapters.stream import StreamAdapter

__all__ = [
    "Array",
    "Memory",
    "MemoryMappedAdapter",
    "ModelAdapter",
    "ModelRunner",
    "Refused",
    "StreamAdapter",
    "UnitAdapter",
]

_MODULES = {
    "Array": "memory",
    "Memory": "memory",
    "MemoryMappedAdapter": "memory_mapped",
    "ModelAdapter": "model",
    "ModelRunner": "adapter",
    "Refused": "model",
    "StreamAdapter": "stream",
    "UnitAdapter": "adapter",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: a file with one adapter needs no other."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
