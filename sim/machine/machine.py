"""The whole accelerator in numpy: what a command stream does to memory, without time."""

from collections import deque
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import CommandError, Decoded, read_stream
from eightfold.sim.machine.accesses import TABLE_BYTES, check_addresses, index_starts, move_starts
from eightfold.sim.machine.legality import check_legal
from eightfold.sim.machine.matrix import MatrixRun, parameter_banks, weight_buffers
from eightfold.sim.machine.tokens import taken
from eightfold.sim.machine.vector import RowState, run_vector
from eightfold.target.config import AcceleratorConfig

Region = tuple[int, int]
"""Address of the first byte in memory, and bytes."""

_ILLEGAL = isa.ErrorCode.ILLEGAL_COMMAND


class Machine:
    """An accelerator at the level of its commands.

    It does one command after the other in the order of the stream; that the tokens make the
    hardware do the same is for `eightfold.sim.machine.tokens` to show.

    - ``memory``: uint8, shape (bytes,). The machine changes the arena in place, and nothing else.
    - ``model``, ``arena``: the regions, each as address and bytes: registers MODEL_BASE and
      MODEL_SIZE, and ARENA_BASE and ARENA_SIZE.
    - ``seed``: of what scratchpad, tables, partial sums and the weights of unused lanes hold at
      first.

    ``scratchpad``: int8, shape (config.scratchpad,). ``tables``: int32, shape (config.tables, 256).
    """

    def __init__(
        self,
        config: AcceleratorConfig,
        memory: NDArray[np.uint8],
        model: Region,
        arena: Region,
        seed: int = 0,
    ) -> None:
        self.config = config
        self.spaces = {
            space: memory[base : base + size]
            for space, (base, size) in ((isa.Space.MODEL, model), (isa.Space.ARENA, arena))
        }
        for name, (_, size), found in zip(
            ("model", "arena"), (model, arena), self.spaces.values(), strict=True
        ):
            if len(found) != size:
                raise ValueError(f"{name} is not within the {len(memory)} bytes of memory")
        self.rng = np.random.default_rng(seed)
        scratchpad = self.rng.integers(0, 256, config.scratchpad, dtype=np.uint8)
        tables = self.rng.integers(0, 256, TABLE_BYTES * config.tables, dtype=np.uint8)
        self.spaces |= {isa.Space.SCRATCHPAD: scratchpad, isa.Space.TABLES: tables}
        self.scratchpad = scratchpad.view(np.int8)
        self.tables = tables.view("<i4").reshape(config.tables, 256)
        self.sums = self.rng.integers(
            -(2**31), 2**31, (config.psum_depth, config.lanes), dtype=np.int32
        )
        self.row = RowState()
        self.weights: deque[NDArray[np.int8]] = deque()
        self.parameters: deque[Mapping[str, NDArray[np.int64]]] = deque()

    def run(self, words: NDArray[np.uint32]) -> None:
        """Run a stream from BEGIN to END.

        ``words``: uint32, shape (words,). Raises CommandError: VERSION and ILLEGAL_COMMAND as
        `eightfold.isa.decode.read_stream` and `eightfold.sim.machine.legality.check_legal` say;
        ILLEGAL_COMMAND at END if weight buffers or parameter banks are left. ADDRESS if a command
        leaves the regions, the scratchpad or the tables. INDEX if a GATHER finds one outside of [0,
        limit). TIMEOUT if a MATRIX needs more weight buffers or parameter banks than commands
        before it have made. Some of these the hardware does not notice: what a command reads
        outside of the scratchpad, and what is left at END.
        """
        commands = read_stream(self.config, words)
        for command in commands:
            check_legal(self.config, command)
            self.execute(command)
        self._check_empty(commands[-1])

    def execute(self, command: Decoded) -> None:
        """Do one command that is legal; raises as `run`."""
        sizes = {space: len(contents) for space, contents in self.spaces.items()}
        check_addresses(self.config, command, sizes)
        model = self.spaces[isa.Space.MODEL]
        fields = command.fields
        if command.opcode == isa.Opcode.WEIGHTS:
            self.weights.extend(weight_buffers(self.config, command, model, self.rng))
        elif command.opcode == isa.Opcode.PARAMETERS:
            self.parameters.extend(parameter_banks(self.config, command, model, self.rng))
        elif command.opcode == isa.Opcode.MOVE:
            run_move(fields, self.spaces)
        elif command.opcode == isa.Opcode.GATHER:
            run_gather(command, self.spaces)
        elif command.opcode == isa.Opcode.MATRIX:
            self._run_matrix(command)
        elif command.opcode == isa.Opcode.VECTOR:
            try:
                run_vector(self.config, fields, self.scratchpad, self.tables, self.row)
            except ValueError as error:
                raise CommandError(_ILLEGAL, command.number, str(error)) from error

    def _run_matrix(self, command: Decoded) -> None:
        need = taken(command)
        queues = {isa.Opcode.WEIGHTS: self.weights, isa.Opcode.PARAMETERS: self.parameters}
        for kind, queue in queues.items():
            if need[kind] > len(queue):
                text = f"takes {need[kind]} of {kind.name}, there are {len(queue)}"
                raise CommandError(isa.ErrorCode.TIMEOUT, command.number, text)
        weights = [self.weights.popleft() for _ in range(need[isa.Opcode.WEIGHTS])]
        banks = [self.parameters.popleft() for _ in range(need[isa.Opcode.PARAMETERS])]
        matrix = isa.Matrix(**command.fields)
        try:
            MatrixRun(self.config, matrix, self.scratchpad, self.sums).run(weights, banks)
        except ValueError as error:
            raise CommandError(_ILLEGAL, command.number, str(error)) from error

    def _check_empty(self, end: Decoded) -> None:
        left = {"weight buffers": len(self.weights), "parameter banks": len(self.parameters)}
        for name, count in left.items():
            if count:
                text = f"{count} {name} are left"
                raise CommandError(_ILLEGAL, end.number, text)


Spaces = Mapping[isa.Space, NDArray[np.uint8]]


def run_move(fields: Mapping[str, int], spaces: Spaces) -> None:
    """Do a MOVE whose fields are legal and whose bytes lie within their spaces.

    All is read before anything is written; of two runs that write the same byte the later one in
    loop order counts. ``spaces``: uint8, the contents of MODEL, ARENA, SCRATCHPAD and TABLES;
    changed in place.
    """
    element = np.arange(fields["run"])
    target = spaces[isa.Space(fields["target_space"])]
    places = move_starts(fields, "target")[:, None] + element
    source = isa.Space(fields["source_space"])
    if source == isa.Space.FILL:
        target[places] = fields["fill"]
    else:
        target[places] = spaces[source][move_starts(fields, "source")[:, None] + element]


def run_gather(command: Decoded, spaces: Spaces) -> None:
    """Do a GATHER whose fields are legal; as `run_move`.

    Raises CommandError: ADDRESS or INDEX, from the first run in loop order that leaves its spaces,
    or whose index leaves the scratchpad or [0, limit); nothing is written then.
    """
    f = command.fields
    source, target = (spaces[isa.Space(f[f"{side}_space"])] for side in ("source", "target"))
    scratchpad = spaces[isa.Space.SCRATCHPAD]
    size = 1 << f["index_size"]
    run = f["run"]
    at = index_starts(f)
    into = move_starts(f, "target")
    outside = (at < 0) | (at > len(scratchpad) - size)
    places = np.where(outside, 0, at)[:, None] + np.arange(size)
    n = scratchpad[places].view(f"<i{size}").ravel().astype(np.int64)
    wrong = (n < 0) | (n >= f["limit"])
    # Products of 64 bits; what is far outside is outside.
    offsets = [min(k * f["step"], 1 << 62) for k in np.where(wrong, 0, n).tolist()]
    start = move_starts(f, "source") + np.array(offsets, np.int64)
    leaves = outside | ~wrong & (_leaves(start, run, source) | _leaves(into, run, target))
    if (wrong | leaves).any():
        first = int(np.argmax(wrong | leaves))
        code = isa.ErrorCode.ADDRESS if leaves[first] else isa.ErrorCode.INDEX
        text = f"run {first}, index {n[first]} at {at[first]}, limit {f['limit']}"
        raise CommandError(code, command.number, text)
    element = np.arange(run)
    target[into[:, None] + element] = source[start[:, None] + element]


def _leaves(starts: NDArray[np.int64], run: int, space: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return (starts < 0) | (starts > len(space) - run)
