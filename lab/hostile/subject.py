"""What is done with a file: what the commands check, compile, estimate and run do."""

import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from eightfold.common.errors import InputError
from eightfold.compiler import Compiled, CompiledNetwork
from eightfold.compiler.artifacts import write_compiled
from eightfold.compiler.passes import Prepared, prepare
from eightfold.compiler.rewrite.draft import run_operators
from eightfold.estimate import estimate_network
from eightfold.golden.quantization import Reference
from eightfold.isa import Space
from eightfold.model import Graph, Tensor, read_model
from eightfold.model.graph import Arrays
from eightfold.operators import (
    Limits,
    check_model,
    check_prepared,
    findings_as_json,
    has_violation,
    load_model,
    render,
)
from eightfold.run.session import Session
from eightfold.run.simulate import InGolden, NetworkRun, network_runs
from eightfold.sim.machine.machine import Machine
from eightfold.sim.machine.tokens import check_tokens
from eightfold.target.config import AcceleratorConfig


def run_compiled(
    compiled: Compiled, graph: Graph, inputs: Arrays, seed: int = 0
) -> dict[int, np.ndarray]:
    """Return what a stream leaves in the arena, after a proof that its tokens suffice.

    ``compiled``: the only stream of a network, or one whose inputs are all in ``inputs``.
    ``graph``: what it was compiled from. ``seed``: of the order in which the engines take their
    turns.
    """
    check_tokens(compiled.config, compiled.words)
    kind = partial(Machine, seed=seed)
    machine = run_on(kind, compiled, {**graph.initial_state(), **inputs})
    return {
        tensor: _tensor(machine.spaces[Space.ARENA], offset, graph.tensors[tensor])
        for tensor, offset in compiled.outputs.items()
    }


Kind = TypeVar("Kind", bound=Machine)


def run_on(kind: Callable[..., Kind], compiled: Compiled, inputs: Arrays) -> Kind:
    """Return a machine of a kind that has run a stream on its model and inputs."""
    base = len(compiled.model)
    memory = np.zeros(base + compiled.arena, dtype=np.uint8)
    memory[:base] = np.frombuffer(compiled.model, dtype=np.uint8)
    for tensor, offset in compiled.inputs.items():
        content = np.asarray(inputs[tensor], order="C").reshape(-1).view(np.uint8)
        memory[base + offset : base + offset + content.size] = content
    machine = kind(compiled.config, memory, (0, base), (base, compiled.arena))
    machine.run(compiled.words)
    return machine


def run_prepared(
    prepared: Prepared, inputs: Arrays, reference: Reference = "litert", seed: int = 0
) -> dict[int, np.ndarray]:
    """Return the inputs and what a network's streams leave, by tensors of the rewritten graph.

    Golden computes what the accelerator does not take. ``seed``: as `run_compiled` takes it.
    """
    rewritten = prepared.rewritten
    (run,) = network_runs(
        rewritten.graph,
        prepared.network,
        [inputs],
        partial(_on_machine, rewritten.graph, seed),
        lambda values, operators: run_operators(rewritten, values, operators, reference),
        together=True,
    )
    return run.tensors


def _on_machine(graph: Graph, seed: int, compiled: Compiled, runs: Sequence[NetworkRun]) -> None:
    for run in runs:
        run.tensors |= run_compiled(compiled, graph, run.tensors, seed)


class MachineSession(Session):
    """A session on hardware, as `eightfold run` has it, whose commands run in numpy.

    ``options``: as `eightfold.Session` takes them, without a backend.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("verilator", **options)

    def _network_runs(
        self,
        graph: Graph,
        network: CompiledNetwork,
        batch: Sequence[Arrays],
        *,
        in_golden: InGolden,
        **_: Any,
    ) -> list[NetworkRun]:
        on_machine = partial(_on_machine, graph, 0)
        return [*network_runs(graph, network, batch, on_machine, in_golden, together=False)]

    def _simulator_version(self) -> str:
        return "machine model"


def _tensor(memory: np.ndarray, start: int, tensor: Tensor) -> np.ndarray:
    size = int(np.prod(tensor.shape, dtype=int)) * tensor.dtype.itemsize
    return memory[start : start + size].view(tensor.dtype).reshape(tensor.shape)


STEPS = ("check", "load", "compile", "estimate", "stream", "golden", "batch")
"""What is done with a file, in this order: held against the spec, also if the gate refuses it;
loaded; compiled, and the files written; cycles estimated; run on the accelerator, whose model in
numpy does the commands, with golden for what it does not compute; run in golden; run in golden as
the second of two inferences. What keeps state is run twice each time, and the second inference
counts. A file that does not load ends there."""

CONFIGS = ("base", "nano")
"""Accelerators, of which each file has one: `base` computes wide, `nano` in many parts."""

LIMITS = Limits(max_memory=1 << 30)
"""The limits of a model: half of what the process may hold."""


@dataclass(frozen=True)
class Step:
    """How one step of `STEPS` ended.

    ``outcome``: ``fine``, ``refused`` with one line, ``traceback``, or of ``load`` ``unsaid``:
    refused for what ``check`` does not say. ``message``: the line, or the exception and where it
    was raised. ``tensors``: what was computed in a run: the graph's outputs, or every tensor.
    """

    name: str
    outcome: str
    message: str = ""
    tensors: dict[int, np.ndarray] = field(default_factory=dict)


def examine(content: bytes, given: Arrays, folder: str) -> Iterator[Step]:
    """Do each of `STEPS` with a file and yield how it ended.

    ``given``: arrays for inputs by tensor index; what does not fit an input is drawn instead.
    ``folder``: where the compiler's files are written.
    """
    warnings.simplefilter("error")  # a line that numpy writes to the user's terminal
    graphs: list[Graph] = []
    found: list[list[str]] = []  # what `check` says, unless the file cannot be read

    def check() -> None:
        checked, findings = check_prepared(read_model(content), LIMITS)
        findings += check_model(checked)
        findings_as_json(findings)
        render(findings, checked)
        found.append([f.found for f in findings if f.severity == "violation"])
        if has_violation(findings):
            raise InputError("violates the spec")

    def compile_() -> None:
        prepared = prepare(graph, AcceleratorConfig.load(config), fallback=True)
        network = prepared.network
        networks.append(network)
        streams = {
            Path(folder, str(number)): compiled for number, compiled in enumerate(network.streams)
        }
        write_compiled(prepared.rewritten.graph, streams)
        for index, reason in network.reasons.items():  # would run in numpy
            raise InputError(f"{graph.operators[index]}: {reason}")

    def ran(session: Session, keep: bool) -> dict[int, np.ndarray]:
        with session:
            runs = [session.run(content, inputs, all_tensors=keep) for _ in frames]
        runs[-1].as_json()
        return runs[-1].tensors

    def stream() -> dict[int, np.ndarray]:
        limits = {"max_memory": LIMITS.max_memory, "fallback": "golden"}
        return ran(MachineSession(config=config, **limits), keep)

    def golden() -> dict[int, np.ndarray]:
        return ran(Session(max_memory=LIMITS.max_memory), True)

    def batch() -> dict[int, np.ndarray]:
        with Session(max_memory=LIMITS.max_memory) as session:
            return session.run_batch(content, [inputs] * 2)[1].tensors

    yield _step("check", check)
    load = _step("load", lambda: graphs.append(load_model(content, LIMITS)))
    if load.outcome == "refused" and found and not _is_said(load.message, found[0]):
        load = replace(load, outcome="unsaid")
    yield load
    if not graphs:
        return
    (graph,) = graphs
    turn = zlib.crc32(content)
    config = CONFIGS[turn % len(CONFIGS)]
    keep = turn // len(CONFIGS) % 2 > 0
    networks: list[CompiledNetwork] = []
    inputs = fitting_inputs(graph, given)
    frames = range(inferences(graph))
    yield _step("compile", compile_)
    if networks:
        yield _step("estimate", lambda: estimate_network(networks[0].streams) and None)
    yield _step("stream", stream)
    yield _step("golden", golden)
    yield _step("batch", batch)


def inferences(graph: Graph) -> int:
    """Return how many inferences of a file are run: of one that keeps state a second one too."""
    return 2 if graph.variables else 1


def fitting_inputs(graph: Graph, given: Arrays) -> dict[int, np.ndarray]:
    """Return an array for each input: the given one where it fits, or one of small integers."""
    rng = np.random.default_rng(0)
    inputs = {}
    for index in graph.inputs:
        tensor = graph.tensors[index]
        array = given.get(index)
        if array is None or (array.shape, array.dtype) != (tensor.shape, tensor.dtype):
            array = rng.integers(-2, 3, tensor.shape).astype(tensor.dtype)
        inputs[index] = array
    return inputs


def _step(name: str, act: Callable[[], Any]) -> Step:
    try:
        result = act()
    except InputError as error:
        message = str(error)
        if len(message.splitlines()) == 1:
            return Step(name, "refused", message)
        return Step(name, "traceback", f"not one line: {message!r}")
    except BaseException as error:
        return Step(name, "traceback", f"{type(error).__name__}: {error} at {_place(error)}")
    return Step(name, "fine", tensors=result if isinstance(result, dict) else {})


def _is_said(refusal: str, found: list[str]) -> bool:
    """Return whether a refusal is in the words of a violation, or about a limit of the caller's."""
    return "--max-" in refusal or any(words in refusal for words in found)


def _place(error: BaseException) -> str:
    """Return the innermost line of ours that an exception passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "eightfold" in Path(frame.filename).parts] or frames
    path = Path(ours[-1].filename)
    return f"{path.parent.name}/{path.name}:{ours[-1].lineno} {ours[-1].name}"
