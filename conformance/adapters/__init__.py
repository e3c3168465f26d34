"""Other people's implementations behind a few lines of Python each.

An *adapter* says how one implementation is asked. `stream` and `memory_mapped` have RTL in a
simulator, `model` anything that computes whole models; `builtin` are those that come with the kit.
`formulas` say what a field is in terms of columns, `bits` and `registers` where it goes, `rtl` has
what adapters of RTL share.
"""

from typing import TYPE_CHECKING

from eightfold.common.first_use import on_first_use

if TYPE_CHECKING:
    from eightfold.conformance.adapters.adapter import ModelRunner, UnitAdapter
    from eightfold.conformance.adapters.memory_mapped import MemoryMappedAdapter
    from eightfold.conformance.adapters.model import ModelAdapter, Refused
    from eightfold.conformance.adapters.registers import Array, Memory
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

# A file with one adapter needs no other.
__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "Array": "registers",
        "Memory": "registers",
        "MemoryMappedAdapter": "memory_mapped",
        "ModelAdapter": "model",
        "ModelRunner": "adapter",
        "Refused": "model",
        "StreamAdapter": "stream",
        "UnitAdapter": "adapter",
    },
)
