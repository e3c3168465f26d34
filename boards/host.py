"""Runs of a compiled network on an accelerator, over whatever masters its bus."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from eightfold.common.errors import InputError
from eightfold.compiler import Compiled
from eightfold.isa.registers import IDENTIFICATION, REGISTERS, configuration_words
from eightfold.target.config import AcceleratorConfig

_OFFSETS = {register.name: register.offset for register in REGISTERS}

_ALIGN = 64
"""Regions begin at multiples of the widest port."""


class Bus(Protocol):
    """Whole 32-bit words at byte addresses; of LiteX, all that ``litex.tools.remote`` has."""

    def read(self, addr: int, length: int) -> Any:
        """Return a list of so many words from an address on."""
        ...

    def write(self, addr: int, data: list[int]) -> None:
        """Write words from an address on."""
        ...


class Result(NamedTuple):
    """Outputs by tensor, the bytes of each, and the clock cycles of the run."""

    outputs: dict[int, bytes]
    cycles: int


class Loaded:
    """A network in the memory of an accelerator.

    Parameters
    ----------
    bus
        Its bus.
    registers, memory
        Addresses of the accelerator's registers, and of memory for the network.
    compiled, config
        The network, and the configuration that the accelerator must have.

    Raises
    ------
    InputError
        If the accelerator is another.
    """

    def __init__(
        self,
        bus: Bus,
        registers: int,
        memory: int,
        compiled: Compiled,
        config: AcceleratorConfig,
    ) -> None:
        self._bus, self._registers, self._compiled = bus, registers, compiled
        found = [self.read(name) for name in ("ID", "CONFIGURATION_0", "CONFIGURATION_1")]
        if found != [IDENTIFICATION, *configuration_words(config)]:
            raise InputError(f"at 0x{registers:08x} is no accelerator of this configuration")
        commands = compiled.words.astype("<u4").tobytes()
        model = memory + -(-len(commands) // _ALIGN) * _ALIGN
        self._arena = model + -(-len(compiled.model) // _ALIGN) * _ALIGN
        self._write(memory, commands)
        self._write(model, compiled.model)
        values = {
            "COMMAND_ADDRESS": memory,
            "COMMAND_LENGTH": len(commands),
            "MODEL_BASE": model,
            "MODEL_SIZE": len(compiled.model),
            "ARENA_BASE": self._arena,
            "ARENA_SIZE": compiled.arena,
            "TIMEOUT": 100_000,
        }
        for name, value in values.items():
            self.write(name, value)

    def run(self, inputs: Mapping[int, np.ndarray], sizes: Mapping[int, int]) -> Result:
        """Write inputs by tensor, run, and return outputs; ``sizes`` are their bytes by tensor.

        Raises
        ------
        InputError
            If the accelerator ends with an error.
        """
        for tensor, values in inputs.items():
            self._write(self._arena + self._compiled.inputs[tensor], values.tobytes())
        self.write("CONTROL", 1)
        while (status := self.read("STATUS")) & 1:
            pass
        if not status & 2:
            raise InputError(f"the accelerator ends with ERROR 0x{self.read('ERROR'):08x}")
        outputs = {
            tensor: self._read(self._arena + self._compiled.outputs[tensor], size)
            for tensor, size in sizes.items()
        }
        return Result(outputs, self.read("CYCLES"))

    def read(self, register: str) -> int:
        """Return a register's value."""
        return self._bus.read(self._registers + _OFFSETS[register], 1)[0]

    def write(self, register: str, value: int) -> None:
        """Write a register."""
        self._bus.write(self._registers + _OFFSETS[register], [value])

    def _write(self, address: int, data: bytes) -> None:
        """Write bytes, and with them whole words: what lies beside them is kept."""
        first = address % 4
        ends = [(0, first), (first + len(data), -(first + len(data)) % 4)]
        before, after = (
            self._read(address - first + at, size) if size else b"" for at, size in ends
        )
        words = np.frombuffer(before + data + after, "<u4")
        self._bus.write(address - first, words.tolist())

    def _read(self, address: int, size: int) -> bytes:
        first = address % 4
        words = -(-(first + size) // 4)
        found = []
        while len(found) < words:
            count = min(words - len(found), 64)
            found += self._bus.read(address - first + 4 * len(found), count)
        return np.array(found, "<u4").tobytes()[first : first + size]
