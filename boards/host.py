"""A host of a board: its bus over a serial port, and networks on its accelerator."""

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import NamedTuple, Protocol

import numpy as np
import serial

from eightfold.boards import protocol
from eightfold.common.errors import HardwareError, InputError
from eightfold.common.line import BAUD, PATIENCE
from eightfold.compiler import Compiled
from eightfold.compiler.emit.memory import aligned
from eightfold.isa import VERSION
from eightfold.isa import registers as isa
from eightfold.model import Graph
from eightfold.model.inputs import random_inputs
from eightfold.operators import run_graphs
from eightfold.target.config import PRESETS, AcceleratorConfig

ATTEMPTS = 20
"""Of a request, where something answers but what comes is damaged."""

SILENT = 4
"""Attempts that nothing answers, each waiting twice as long as the one before."""

QUIET = 1 / 20
"""The part of an answer's time that a line must be silent behind a damaged frame, before the
request is repeated: the bridge does not listen while it answers."""

_OFFSETS = {register.name: register.offset for register in isa.REGISTERS}


class Bus(Protocol):
    """Whole 32-bit words at byte addresses, and how many requests it took twice or more."""

    repeats: int

    def read(self, addr: int, length: int) -> list[int]:
        """Return so many words from an address on."""
        ...

    def write(self, addr: int, data: list[int]) -> None:
        """Write words from an address on."""
        ...


class SerialBus:
    """The bus behind an `eightfold.boards.bridge.Bridge` at a serial port.

    Each request is repeated until its answer has come undamaged: what a line loses, doubles or
    changes costs time alone, or ends with an error. Raises `InputError` from any method, if the
    port cannot be used, nothing answers, or nothing is at an address.

    ``port``, ``baud``: its device, and bits per second; ``patience``: seconds that an answer may
    take, beside the time of its bytes on the line.

    ``repeats``: requests that were repeated.
    """

    def __init__(self, port: str, baud: int = BAUD, patience: float = PATIENCE) -> None:
        self._name, self._baud, self._patience = port, baud, patience
        self._heard = bytearray()
        self._sequence = random.randrange(1 << 16)
        self.repeats = 0
        with self._one_line():
            self._port = serial.Serial(port, baud, timeout=0.02, write_timeout=patience)

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def read(self, addr: int, length: int) -> list[int]:
        """Return so many words from an address on."""
        found: list[int] = []
        while len(found) < length:
            count = min(protocol.LIMIT, length - len(found))
            answer = self._ask(protocol.READ, count, addr + 4 * len(found))
            found += np.frombuffer(answer, "<u4").tolist()
        return found

    def write(self, addr: int, data: list[int]) -> None:
        """Write words from an address on."""
        for first in range(0, len(data), protocol.LIMIT):
            part = np.array(data[first : first + protocol.LIMIT], "<u4")
            self._ask(protocol.WRITE, len(part), addr + 4 * first, part.tobytes())

    def _ask(self, operation: int, words: int, address: int, data: bytes = b"") -> bytes:
        self._sequence = (self._sequence + 1) % (1 << 16)
        head = (words, self._sequence, address)
        request = protocol.encode(operation, *head, data)
        wait = self._patience + 10 * (len(request) + 4 * words) / self._baud
        size = 4 * words if operation == protocol.READ else 0
        silent = 0
        with self._one_line():
            for attempt in range(ATTEMPTS):
                self.repeats += attempt > 0
                self._port.write(request)
                answer, damaged = self._answer(head, size, wait * 2**silent)
                if answer is not None:
                    return answer
                silent += not damaged
                if silent == SILENT:
                    raise InputError(
                        f"{self._name}: nothing answers; is it the board's port, at {self._baud} "
                        "baud, and is its bitstream loaded?"
                    )
        raise InputError(f"{self._name}: {ATTEMPTS} answers were damaged; check the line")

    def _answer(
        self, head: tuple[int, int, int], size: int, wait: float
    ) -> tuple[bytes | None, bool]:
        """Return the data of an answer, None if it has not come, and whether others came."""
        end, damaged = time.monotonic() + wait, False
        while time.monotonic() < end:
            came = self._port.read(max(1, self._port.in_waiting))
            *frames, rest = (bytes(self._heard) + came).split(bytes([protocol.END]))
            self._heard[:] = rest
            for frame in filter(None, frames):
                status, *found, data = protocol.decode(frame) or (None, b"")
                if tuple(found) == head and status == protocol.BUS_ERROR:
                    raise InputError(f"{self._name}: nothing answers at 0x{head[2]:08x}")
                if tuple(found) == head and status == protocol.DONE and len(data) == size:
                    return data, False
                damaged = True
            if came:
                end = time.monotonic() + wait * (QUIET if damaged else 1)
        return None, damaged

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:  # pyserial's are of the first
            raise InputError(f"{self._name}: {error}") from None


class Board(NamedTuple):
    """What a board says of itself.

    ``clock``, ``memory``: in Hz, and bytes; ``configuration``: CONFIGURATION_0 and _1; ``steps``:
    addresses, values, and clock cycles to wait behind each: what makes memory ready.
    """

    bus: Bus
    clock: int
    memory: int
    configuration: tuple[int, int]
    steps: tuple[tuple[int, int, int], ...] = ()

    @property
    def config(self) -> str:
        """The preset that it has, ``custom`` if it is none."""
        known = {isa.configuration_words(config): name for name, config in PRESETS.items()}
        return known.get(self.configuration, "custom")

    def make_ready(self) -> None:
        """Make memory ready, as it is not behind a reset; what is in it is lost."""
        for address, value, cycles in self.steps:
            self.bus.write(address, [value])
            time.sleep(cycles / self.clock)


def find_board(bus: Bus) -> Board:
    """Return the board behind a bus, its memory ready.

    Raises `InputError` if it is none of ours, or its accelerator of another version.
    """
    magic, clock, memory, count = bus.read(protocol.DESCRIPTION, 4)
    if magic != protocol.MAGIC:
        raise InputError(
            f"the board is none of Eightfold's: 0x{protocol.DESCRIPTION:08x} has {magic:08x}"
        )
    words = bus.read(protocol.DESCRIPTION + 16, 3 * count)
    found, version, *configuration = bus.read(protocol.REGISTERS, 4)
    if (found, version) != (isa.IDENTIFICATION, VERSION):
        raise InputError(
            f"the accelerator's ID is {found:08x} and its version {version}, not "
            f"{isa.IDENTIFICATION:08x} and {VERSION}: load a bitstream of this version"
        )
    steps = tuple(zip(words[::3], words[1::3], words[2::3], strict=True))
    board = Board(bus, clock, memory, (configuration[0], configuration[1]), steps)
    board.make_ready()
    return board


@contextmanager
def open_board(port: str, baud: int = BAUD, patience: float = PATIENCE) -> Iterator[Board]:
    """Open the board at a serial port; as `SerialBus` and `find_board`."""
    with closing(SerialBus(port, baud, patience)) as bus:
        yield find_board(bus)


class Result(NamedTuple):
    """Outputs by tensor, the bytes of each, and the clock cycles of the run."""

    outputs: dict[int, bytes]
    cycles: int


class Loaded:
    """A network in the memory of a board.

    Raises `InputError` if the accelerator is of another configuration, or the network does not fit.
    """

    def __init__(self, board: Board, compiled: Compiled, config: AcceleratorConfig) -> None:
        if board.configuration != isa.configuration_words(config):
            raise InputError(
                f"the board's accelerator is of another configuration; compile with --config "
                f"{board.config}"
            )
        self._bus, self._compiled = board.bus, compiled
        commands = compiled.words.astype("<u4").tobytes()
        model = protocol.MAIN_RAM + aligned(len(commands))
        self._arena = model + aligned(len(compiled.model))
        needed = self._arena + compiled.arena - protocol.MAIN_RAM
        if needed > board.memory:
            raise InputError(f"the network takes {needed:,} bytes, the board has {board.memory:,}")
        self.write("CONTROL", 2)  # ends what a host before may have left, and an error
        self._settle()
        self._values = {
            "COMMAND_ADDRESS": protocol.MAIN_RAM,
            "COMMAND_LENGTH": len(commands),
            "MODEL_BASE": model,
            "MODEL_SIZE": len(compiled.model),
            "ARENA_BASE": self._arena,
            "ARENA_SIZE": compiled.arena,
        }
        if config.watchdog:
            self._values["TIMEOUT"] = 100_000
        # A reset from here on changes them, which `run` sees; memory may not be ready behind it.
        for name, value in self._values.items():
            self.write(name, value)
        board.make_ready()
        self._write(protocol.MAIN_RAM, commands)
        self._write(model, compiled.model)

    def run(self, inputs: Mapping[int, np.ndarray], sizes: Mapping[int, int]) -> Result:
        """Write inputs by tensor, run, and return outputs; ``sizes`` are their bytes by tensor.

        Raises `HardwareError` if the accelerator ends with an error, or was reset.
        """
        for tensor, values in inputs.items():
            self._write(self._arena + self._compiled.inputs[tensor], values.tobytes())
        self.write("CONTROL", 1)
        status = self._settle()
        if status & 4:
            error = self.read("ERROR")
            code = error & 255
            raise HardwareError(
                f"the accelerator ends with error {isa.ErrorCode(code).name} at command "
                f"{error >> 16}"
            )
        outputs = {
            tensor: self._read(self._arena + self._compiled.outputs[tensor], size)
            for tensor, size in sizes.items()
        }
        cycles = self.read("CYCLES")
        kept = {name: self.read(name) for name in self._values}
        if not status & self.read("STATUS") & 2 or kept != self._values:
            raise HardwareError("the board was reset in the run: run again")
        return Result(outputs, cycles)

    def compare(self, graph: Graph, seed: int = 0) -> Result:
        """Run the network, or its first stream, on random inputs of its model, which is given.

        Raises `HardwareError` as `run`, or if an output of the stream differs from golden.
        """
        inputs = random_inputs(graph, seed)
        (golden,) = run_graphs(graph, [inputs])
        sizes = {tensor: graph.tensors[tensor].nbytes for tensor in self._compiled.outputs}
        result = self.run(inputs, sizes)
        for tensor, found in result.outputs.items():
            if found != golden[tensor].tobytes():
                raise HardwareError(f"output {graph.tensors[tensor].name} differs from golden")
        return result

    def _settle(self) -> int:
        """Return STATUS when the accelerator does nothing more."""
        while (status := self.read("STATUS")) & 1:
            pass
        return status

    def read(self, register: str) -> int:
        """Return a register's value."""
        return self._bus.read(protocol.REGISTERS + _OFFSETS[register], 1)[0]

    def write(self, register: str, value: int) -> None:
        """Write a register."""
        self._bus.write(protocol.REGISTERS + _OFFSETS[register], [value])

    def _write(self, address: int, data: bytes) -> None:
        """Write bytes, and with them whole words: what lies beside them is kept."""
        first = address % 4
        ends = [(0, first), (first + len(data), -(first + len(data)) % 4)]
        before, after = (self._read(address - first + at, n) if n else b"" for at, n in ends)
        self._bus.write(address - first, np.frombuffer(before + data + after, "<u4").tolist())

    def _read(self, address: int, size: int) -> bytes:
        first = address % 4
        found = self._bus.read(address - first, -(-(first + size) // 4))
        return np.array(found, "<u4").tobytes()[first : first + size]
