"""Run a model: golden in this process, or RTL in a simulator; a runtime beside it to compare."""

import hashlib
import logging
import platform
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, get_args

import numpy as np

from eightfold.common.child import Closing
from eightfold.common.errors import HardwareError, InputError, Unanswered
from eightfold.common.extras import needs_extra
from eightfold.common.line import BAUD, PATIENCE
from eightfold.golden.quantization import Reference
from eightfold.model import Graph, named, normalize_dimensions, with_shapes
from eightfold.model.graph import Arrays
from eightfold.model.inputs import Inputs, frames_of, random_inputs, resolve_inputs, whole
from eightfold.model.reader import Model, model_bytes
from eightfold.operators import Limits, load_int8, run_graphs
from eightfold.run.reference.oracle import (
    Oracle,
    OracleAborted,
    OracleError,
    differ,
    differences,
    litert_tensors,
    with_state,
)
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.run.report.clock import clock_of
from eightfold.run.report.result import (
    Frame,
    Provenance,
    Record,
    RunResult,
    TensorRecord,
    fingerprint,
    golden_reports,
    hardware_reports,
)
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming

if TYPE_CHECKING:
    from eightfold.common.progress import OnProgress
    from eightfold.compiler.passes import CompiledNetwork, Prepared
    from eightfold.run.simulate import NetworkRun
    from eightfold.sim.simulator.sources import AcceleratorSource

Backend = Literal["golden", "verilator", "icarus", "board"]


class _Asked(NamedTuple):
    """What a run is asked for besides its inputs; ``seed`` is None if these are given."""

    seed: int | None = None
    all_tensors: bool = False
    compare: bool = False
    record: bool = False


@dataclass
class _State:
    """What a model has kept: the values of its variables, and the runtime that has run the same."""

    values: dict[int, np.ndarray]
    frames: int = 0
    oracle: Oracle | None = None
    seen: int = 0
    """Inferences that the runtime has run; not all, if some were not compared."""


class Session(Closing):
    """Runs models on one backend; simulator builds and the runtime's process are kept between runs.

    A model that keeps state goes on where its last run has ended: `run` is its next inference. The
    state belongs to the model, which is known by its bytes; `reset` makes it initial. A run that
    raises an error leaves the state of before.

    Any method raises `InputError` of a bad model, input, configuration, or a missing tool; a run
    `HardwareError` if the simulated hardware hung, broke a rule of its streams, or gave other
    outputs in the undisturbed pass.

    - ``backend``: ``golden`` computes with numpy; ``verilator`` and ``icarus`` simulate the
      accelerator, after golden has accepted the inference: what it refuses for values, commands
      cannot see. ``board`` runs it on an FPGA, likewise.
    - ``config``: a preset's name, a ``.toml`` file or an `AcceleratorConfig`.
    - ``reference``: ``litert`` or ``tflm``: whose kernels to equal where they differ, and to
      compare with.
    - ``fallback``: ``golden``: operators that the accelerator does not compute run in numpy, and
      the report says so; None: a model with such operators is refused.
    - ``memory``: how long the simulated memory takes, as
      `eightfold.target.memory.MemoryTiming.load` reads it; ``stall``: probability, 0 to below 1,
      that a channel of it pauses in a cycle.
    - ``source``: what is simulated in place of the accelerator's RTL, such as a netlist of it:
      docs/gates.md has those of a checkout. None: the RTL.
    - ``trace``: file for the simulation's waves, ``.vcd`` or ``.fst``; how large it will be is said
      by `logging` before.
    - ``progress``: called with a `eightfold.common.progress.Progress` while a simulator is built,
      and during simulation.
    - ``max_memory``, ``max_elements``: limits of a model, in bytes of a run and in elements of a
      tensor; None: as `eightfold.operators.Limits` says. A model beyond them is refused before it
      allocates anything.
    - ``no_rewrite``: names of `eightfold.compiler.rewrite.rules.RULES` that are not applied to the
      graph before it is compiled, or ``all``; ``cascade``: whether chains of operators may run
      strip by strip.
    - ``fast``: leave out the undisturbed pass in the simulator. Cycles are always those of a pass
      that stores only what the network needs, in a memory that does not pause; ``compare``,
      ``all_tensors`` and ``stall`` disturb that, and a run with them comes after such a pass, whose
      outputs must be the same. Without it their results have no cycles.
    - ``batch``: entries along dimension 0 of the inputs whose file leaves it open; None: what the
      file states, mostly 1.
    - ``port``, ``baud``, ``patience``: a board's serial port, its bits per second, and seconds that
      an answer may take.
    - ``clock``: MHz for times, in place of what was measured for ``config``, see
      `eightfold.run.report.clock.MEASURED`.
    """

    def __init__(
        self,
        backend: str = "golden",
        config: str | Path | AcceleratorConfig = "base",
        reference: str = "litert",
        *,
        fallback: str | None = None,
        memory: str | MemoryTiming = "ideal",
        stall: float = 0.0,
        source: "AcceleratorSource | None" = None,
        trace: str | Path | None = None,
        progress: "OnProgress | None" = None,
        max_memory: int | None = None,
        max_elements: int | None = None,
        no_rewrite: Collection[str] = (),
        cascade: bool = True,
        fast: bool = False,
        clock: float | None = None,
        batch: int | None = None,
        port: str | None = None,
        baud: int = BAUD,
        patience: float = PATIENCE,
    ) -> None:
        if backend not in get_args(Backend):
            raise InputError(f"backend must be golden, verilator, icarus or board, not {backend!r}")
        if reference not in RUNTIMES:
            raise InputError(f"reference must be litert or tflm, not {reference!r}")
        if fallback not in (None, "golden"):
            raise InputError(f"fallback must be golden, not {fallback!r}")
        if not 0 <= stall < 1:
            raise InputError(f"stall must be at least 0 and below 1, not {stall}")
        timing = MemoryTiming.load(memory)
        self.config = AcceleratorConfig.load(config)
        told = clock_of(self.config, clock)
        if backend == "golden":
            simulated = {
                "memory": timing != IDEAL,
                "stall": stall > 0,
                source.name if source else "source": source is not None,
                "trace": trace is not None,
                "fast": fast,
                "clock": clock is not None,
                "no_rewrite": bool(no_rewrite),
                "no_cascade": not cascade,
            }
            for name, needed in simulated.items():
                if needed:
                    raise InputError(
                        f"{name} needs a simulation, not golden; use backend verilator or icarus, "
                        "or leave it out"
                    )
        if (backend == "board") != (port is not None):
            raise InputError("backend board and port, such as /dev/ttyUSB0, need each other")
        if backend == "board" and (stall or source or trace):
            raise InputError("stall, source and trace need a simulation, not a board")
        if backend != "board" and (baud, patience) != (BAUD, PATIENCE):
            raise InputError("baud and patience are of backend board; leave them out")
        trace = None if trace is None else Path(trace)
        if trace is not None:  # refused before golden, compiler and simulator have worked
            from eightfold.sim.simulator.toolchain import checked_simulator
            from eightfold.sim.simulator.waves import wave_format

            wave_format(trace, checked_simulator(backend))
        self.backend = cast(Backend, backend)
        self.line = None if port is None else (port, baud, patience)
        self.fallback = fallback
        self.stall = stall
        self.source = source
        self.memory = timing
        self.config_name = str(config) if not isinstance(config, AcceleratorConfig) else "custom"
        self.reference: Reference = cast(Reference, reference)
        self.trace = trace
        self.progress = progress
        if no_rewrite:
            from eightfold.compiler.rewrite.rules import unknown_rule

            if wrong := unknown_rule(no_rewrite):
                raise InputError(f"no_rewrite: {wrong}")
        self.no_rewrite = tuple(no_rewrite)
        self.cascade = cascade
        self.fast = fast
        self.clock = told if backend != "golden" else None
        self.limits = Limits(max_memory, max_elements)
        self.batch = None if batch is None else whole("batch", batch, 1)
        self._oracle: Oracle | None = None
        self._states: dict[str, _State] = {}

    def close(self) -> None:
        """End the runtime's processes, if any were started, and forget the state of models."""
        self.reset()
        if self._oracle is not None:
            self._oracle.close()
            self._oracle = None

    def reset(self, model: Model | None = None) -> None:
        """Make the state of a model initial, that of all models if none is given."""
        for key in [*self._states] if model is None else [_hash(model)]:
            state = self._states.pop(key, None)
            if state and state.oracle:
                state.oracle.close()

    def run(
        self,
        model: Model,
        inputs: Inputs | None = None,
        *,
        seed: int = 0,
        all_tensors: bool = False,
        compare: bool = False,
        record: bool = False,
    ) -> RunResult:
        """Run one inference; of a model that keeps state the next one.

        ``model``: a ``.tflite`` file or its bytes; ``inputs``: input tensors by index,
        ``tensor_<index>`` or name; without it int8 inputs are drawn with ``seed`` uniformly from
        [-128, 127], float32 ones from [-8, 8). ``all_tensors``: keep every computed tensor in the
        result, not only the outputs; ``compare``: every one with the kernels of the ``reference``.
        ``record``: keep what `eightfold.run.report.run_page.run_page` shows: when each command ran,
        where each tensor lay, and each one's comparison.
        """
        graph = load_int8(model, self.limits, self.batch)
        seed = whole("seed", seed, 0)
        asked = _Asked(seed if inputs is None else None, all_tensors, compare, record)
        batch = [random_inputs(graph, seed) if inputs is None else resolve_inputs(graph, inputs)]
        (result,) = self._run(model, graph, batch, asked)
        return result

    def run_batch(
        self,
        model: Model,
        batch: Sequence[Inputs],
        *,
        all_tensors: bool = False,
        compare: bool = False,
    ) -> list[RunResult]:
        """Run one inference for each entry of ``batch``, in one simulation.

        Those of a model that keeps state are frames: one after another, each from the state that
        the one before has left, and the first one from that of the run before. If one of them
        raises an error, the state is as it was before all of them.
        """
        graph = load_int8(model, self.limits, self.batch)
        resolved = [resolve_inputs(graph, inputs) for inputs in batch]
        if not resolved:
            raise InputError("a batch must have the inputs of one inference or more, not of none")
        return self._run(model, graph, resolved, _Asked(all_tensors=all_tensors, compare=compare))

    def run_frames(
        self,
        model: Model,
        count: int,
        inputs: Inputs | None = None,
        *,
        seed: int = 0,
        all_tensors: bool = False,
        compare: bool = False,
        record: bool = False,
    ) -> list[RunResult]:
        """Run ``count`` inferences as `run_batch` does, and return the result of each.

        The last result has in ``frames`` how each of them compares. ``inputs``: as of `run`, each
        array with a further axis in front, of ``count`` frames; without it frame n has those that
        are drawn with ``seed + n``. The others are as of `run`.
        """
        graph = load_int8(model, self.limits, self.batch)
        count, seed = whole("count", count, 1), whole("seed", seed, 0)
        if inputs is None:
            frames = [random_inputs(graph, seed + number) for number in range(count)]
        else:
            frames = frames_of(graph, inputs, count)
        asked = _Asked(seed if inputs is None else None, all_tensors, compare, record)
        results = self._run(model, graph, frames, asked)
        results[-1].frames = [
            Frame(cycles=r.cycles, mismatches=r.mismatches, first_mismatch=r.first_mismatch)
            for r in results
        ]
        return results

    def _run(
        self, model: Model, graph: Graph, batch: Sequence[Arrays], asked: _Asked
    ) -> list[RunResult]:
        state = None
        if graph.variables:
            state = self._states.setdefault(_hash(model), _State(graph.initial_state()))
        given = batch
        if state:
            batch = [{**batch[0], **state.values}, *batch[1:]]
        started = time.monotonic()
        undisturbed: list[dict[int, np.ndarray]] = [{} for _ in batch]
        with named(model):
            # Also what commands cannot see: a computed shape that is not the declared one, an index
            # outside, a row of SOFTMAX without a result.
            runs = run_graphs(graph, batch, self.reference)
        if self.backend == "golden":
            results = [self._result(model, graph, tensors) for tensors in runs]
        else:
            del runs  # as large as all tensors of the batch
            with needs_extra("rtl", f"backend {self.backend}"):
                results, undisturbed = self._simulate(model, graph, batch, asked)
        if asked.compare:
            content = model_bytes(model)
            if self.batch is not None:
                content = with_shapes(content, graph)
            self._compare_all(results, graph, content, given, state)
        for result, outputs in zip(results, undisturbed, strict=True):
            if not result.mismatches:
                _expect_the_same(result, outputs)
        seconds = (time.monotonic() - started) / len(batch)
        provenance = self._provenance(model, asked)
        if state:
            state.values = graph.next_state(results[-1].tensors)
            state.frames += len(batch)
        for number, (result, inputs) in enumerate(zip(results, batch, strict=True)):
            result.seconds = seconds
            result.provenance = replace(
                provenance,
                seed=None if asked.seed is None else asked.seed + number,
                inputs=_fingerprints(graph, graph.inputs, inputs),
                outputs=_fingerprints(graph, graph.outputs, result.outputs),
            )
            if not asked.record:
                result.record = None
            if not asked.all_tensors:
                result.tensors = dict(result.outputs)
        return results

    def _provenance(self, model: Model, asked: _Asked) -> Provenance:
        """Return what the runs of a batch have in common."""
        simulated = self.backend != "golden"
        versions = {
            "eightfold": version("eightfold"),
            "python": platform.python_version(),
            "numpy": np.__version__,
            **{
                name: self._runtime_version() if asked.compare and name == self.reference else None
                for name in RUNTIMES
            },
            "simulator": self._simulator_version() if simulated else None,
        }
        return Provenance(
            model_sha256=_hash(model),
            configuration=self.config.as_dict(),
            fallback=self.fallback,
            batch=self.batch,
            no_rewrite=list(self.no_rewrite),
            cascade=self.cascade,
            stall=self.stall,
            netlist=self.source.name if self.source else "",
            memory=str(self.memory),
            seed=asked.seed,
            compare=asked.compare,
            all_tensors=asked.all_tensors,
            fast=self.fast,
            versions=versions,
            inputs=[],
            outputs=[],
        )

    def _runtime_version(self) -> str:
        """Return what reports say of the reference that runs were compared with."""
        assert self._oracle is not None
        return self._oracle.runtime.version(self._oracle.loaded)

    # What runs commands in another way has these two of its own.

    def _simulator_version(self) -> str:
        if self.line is not None:
            return f"board at {self.line[0]}"
        from eightfold.sim.simulator.toolchain import simulator_version

        return simulator_version(cast(Literal["verilator", "icarus"], self.backend))

    def _network_runs(self, *args: Any, **options: Any) -> "list[NetworkRun]":
        """Return what `eightfold.run.simulate.simulate_network` does."""
        from eightfold.run.simulate import board_runs, simulate_network

        if self.line is None:
            return simulate_network(*args, **options)
        with needs_extra("board", "backend board"):
            return board_runs(*self.line, *args, **options)

    def _simulate(
        self, model: Model, graph: Graph, batch: Sequence[Arrays], asked: _Asked
    ) -> tuple[list[RunResult], list[dict[int, np.ndarray]]]:
        """Run a batch, and if something disturbs its cycles before that once without it.

        Returns the results, and the outputs of each in the undisturbed pass, none without it.
        """
        # The simulator's packages are needed, and loaded, only here.
        from eightfold.compiler.rewrite.draft import rebuild

        options = {"compare": asked.compare, "all_tensors": asked.all_tensors, "stall": self.stall}
        disturbed = ", ".join(name for name, given in options.items() if given)
        keep = asked.all_tensors or asked.compare
        with named(model):
            prepared = self._compile(graph, keep=keep)
            plain = self._compile(graph, keep=False) if disturbed and not self.fast else None
        if self.trace is not None:
            self._note_trace(self.trace, prepared.network, len(batch))
        # Waves are of what comes last: the pass that is compared.
        undisturbed = self._run_network(plain, batch, asked.record) if plain else None
        runs = self._run_network(prepared, batch, asked.record, stall=self.stall)
        timed: Sequence[NetworkRun | None] = undisturbed or (
            [None] * len(runs) if disturbed else runs
        )
        computed = {tensor for operator in graph.operators for tensor in operator.outputs}
        outputs = computed & set(graph.results)
        results: list[RunResult] = []
        again: list[dict[int, np.ndarray]] = []
        for run, clean in zip(runs, timed, strict=True):
            wanted = computed if keep else outputs
            tensors = rebuild(prepared.rewritten, run.tensors, wanted, self.reference)
            result = self._result(model, graph, tensors, prepared, clean)
            results.append(result)
            again.append({})
            if clean is None:
                result.untimed = disturbed
            elif plain:
                rebuilt = rebuild(plain.rewritten, clean.tensors, outputs, self.reference)
                again[-1] = {index: rebuilt[index] for index in outputs}
        return results, again

    def _compile(self, graph: Graph, *, keep: bool) -> "Prepared":
        """Compile a network, with every tensor kept or as it is used."""
        from eightfold.compiler.passes import prepare

        return prepare(
            graph,
            self.config,
            self.reference,
            fallback=self.fallback == "golden",
            keep=keep,
            memory=self.memory,
            no_rewrite=self.no_rewrite,
            cascade=self.cascade,
        )

    def _run_network(
        self, prepared: "Prepared", batch: Sequence[Arrays], record: bool, *, stall: float = 0.0
    ) -> "list[NetworkRun]":
        """Return each inference of a compiled network on the accelerator."""
        from eightfold.compiler.rewrite.draft import run_operators
        from eightfold.sim.simulator.runner import BenchFailed

        rewritten = prepared.rewritten
        reference = self.reference
        try:
            return self._network_runs(
                rewritten.graph,
                prepared.network,
                batch,
                simulator=cast(Literal["verilator", "icarus"], self.backend),
                reference=reference,
                stall=stall,
                source=self.source,
                memory=self.memory,
                trace=self.trace,
                on_progress=self.progress,
                record=record,
                in_golden=lambda tensors, ops: run_operators(rewritten, tensors, ops, reference),
            )
        except BenchFailed as error:
            raise HardwareError(str(error)) from None

    def _note_trace(self, trace: Path, network: "CompiledNetwork", runs: int) -> None:
        """Say, by `logging`, how large a trace will be, before anything is built."""
        from eightfold.estimate.estimate import estimate
        from eightfold.sim.simulator.toolchain import checked_simulator
        from eightfold.sim.simulator.waves import size_note

        cycles = runs * estimate(network.streams, self.memory).total
        note = size_note(trace, checked_simulator(self.backend), self.config.macs_per_cycle, cycles)
        logging.getLogger(__name__).warning("eightfold: %s", note)

    def _result(
        self,
        model: Model,
        graph: Graph,
        tensors: dict[int, np.ndarray],
        prepared: "Prepared | None" = None,
        timed: "NetworkRun | None" = None,
    ) -> RunResult:
        """Return the result of golden, or of the network that was ``prepared`` for the hardware."""
        rewritten = prepared.rewritten if prepared else None
        run = rewritten.graph if rewritten else graph
        if prepared is None:
            operators = golden_reports(graph)
        elif timed is None:
            operators = hardware_reports(graph, prepared, self.config)
        else:
            # The machine model counts none.
            cycles = {i: counted["CYCLES"] for i, counted in timed.counters.items()} or None
            operators = hardware_reports(graph, prepared, self.config, cycles, timed.work)
            for operator in operators:
                operator.counters = dict(timed.counters.get(operator.index, {}))
                operator.counters.pop("CYCLES", None)
        return RunResult(
            model="(bytes)" if isinstance(model, bytes | bytearray) else str(model),
            config=self.config_name,
            backend=self.backend,
            reference=self.reference,
            tensors=tensors,
            outputs={index: tensors[index] for index in graph.outputs if index in tensors},
            notes=graph.notes(),
            rewrites=rewritten.summary() if rewritten else [],
            operators=operators,
            macs_per_cycle=self.config.macs_per_cycle,
            clock=self.clock,
            record=Record(
                streams=timed.streams if timed else (),
                tensors=_tensor_records(graph),
                names={tensor.index: tensor.name for tensor in run.tensors},
            ),
        )

    def _compare_all(
        self,
        results: Sequence[RunResult],
        graph: Graph,
        model: bytes,
        batch: Sequence[Arrays],
        state: _State | None,
    ) -> None:
        """Compare the inferences of a batch; a model that keeps state has a runtime of its own."""
        if self._oracle is None:
            self._oracle = Oracle(self.reference)
        if state is None:
            for result, inputs in zip(results, batch, strict=True):
                self._compare(self._oracle, result, graph, model, inputs)
            return
        if state.seen != state.frames:
            title = self._oracle.runtime.title
            raise InputError(
                f"{results[0].model}: {title} has not run the {state.frames} inferences before, "
                "and so has another state; compare each from the first one on, or call reset()"
            )
        state.oracle = state.oracle or Oracle(self.reference)
        for result, inputs in zip(results, batch, strict=True):
            following = state.seen > 0
            state.seen += 1  # also where what follows fails: then it is ahead
            self._compare(state.oracle, result, graph, model, inputs, following)

    def _compare(
        self,
        oracle: Oracle,
        result: RunResult,
        graph: Graph,
        model: bytes,
        inputs: Arrays,
        next_frame: bool = False,
    ) -> None:
        """Count differing elements of every operator's outputs."""
        runtime = oracle.runtime
        try:
            if self.reference == "tflm":  # takes any file as it is, and has a right SUM
                expected = with_state(graph, oracle.run(model, inputs, next_frame=next_frame))
            else:
                if result.notes:
                    model = normalize_dimensions(model)  # LiteRT refuses the file as it is
                expected = litert_tensors(
                    oracle, model, graph, inputs, result.tensors, next_frame=next_frame
                )
        except OracleError as error:
            who = f"{result.model}: {runtime.kernels(self._runtime_version())}"
            if isinstance(error, OracleAborted):
                raise Unanswered(f"{who} gave no answer: {error}") from None
            raise InputError(f"{who} refuse this model: {error}") from None
        result.compared = True
        assert result.record is not None
        tensors = {tensor.index: tensor for tensor in result.record.tensors}
        for operator, report in zip(graph.operators, result.operators, strict=True):
            report.mismatches = 0
            for index in operator.outputs:
                if index not in expected or index not in result.tensors:
                    known = index in result.tensors
                    (result.unread if known else result.undefined).append(index)
                    continue
                got, wanted, record = result.tensors[index], expected[index], tensors[index]
                different = np.argwhere(differences(graph, operator, got, wanted))
                report.mismatches += len(different)
                record.compared, record.different = True, len(different)
                if len(different):
                    place = tuple(different[0].tolist())
                    record.first = place, str(got[place]), str(wanted[place])
                    result.first_mismatch = result.first_mismatch or (
                        f"first at {operator}, tensor {index} {list(place)}: {got[place]!s}, "
                        f"{runtime.title} {wanted[place]!s}"
                    )
                elif differ(got, wanted).any():
                    result.near.append(index)


def _expect_the_same(result: RunResult, undisturbed: Arrays) -> None:
    """Check that a run has the outputs of the undisturbed pass over its input."""
    for index, tensor in undisturbed.items():
        if differ(tensor, result.tensors[index]).any():
            place = tuple(np.argwhere(differ(tensor, result.tensors[index]))[0].tolist())
            raise HardwareError(
                f"output tensor {index} {list(place)} is {result.tensors[index][place]}, and "
                f"{tensor[place]} in the undisturbed pass over the same input, which stores only "
                "what the network needs: the hardware or the compiler is wrong"
            )


def _tensor_records(graph: Graph) -> list[TensorRecord]:
    """Return what the operators compute, not compared yet."""
    return [
        TensorRecord(
            index=index,
            name=graph.tensors[index].name,
            shape=graph.tensors[index].shape,
            dtype=graph.tensors[index].dtype.name,
            operator=operator.index,
        )
        for operator in graph.operators
        for index in operator.outputs
    ]


def _fingerprints(graph: Graph, indices: Sequence[int], tensors: Arrays) -> list[dict[str, Any]]:
    return [
        fingerprint(index, graph.tensors[index].name, tensors[index])
        for index in indices
        if index in tensors
    ]


def _hash(model: Model) -> str:
    """Return the SHA-256 of a model's bytes."""
    with named(model):
        return hashlib.sha256(model_bytes(model)).hexdigest()
