"""Random networks: golden against the reference's kernels, RTL against golden, on every tensor."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from eightfold.campaign.records import GOOD, Case, Evidence, Unit, error_case
from eightfold.campaign.suite import Result, Suite
from eightfold.cases.networks import DRAWN, MAX_ELEMENTS, network_rng, odd_network, random_network
from eightfold.common.errors import InputError
from eightfold.compiler import HARDWARE, Compiled, compile_network
from eightfold.compiler.passes import Prepared, prepare
from eightfold.compiler.rewrite.draft import rebuild
from eightfold.golden.quantization import Reference
from eightfold.model import Graph
from eightfold.model.graph import Arrays
from eightfold.operators import load_model, run_graph
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.sim.simulator.system import Run, RunResult, run_system
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.target.config import AcceleratorConfig
from lab.gates import accelerator_source
from lab.hostile.subject import fitting_inputs, run_compiled, run_prepared
from lab.suites import common
from lab.suites.common import Drawn, Found
from lab.suites.operators import MOST_ELEMENTS
from lab.suites.shrink import Budget, part_of, shrink

TOGETHER = {"golden": 20, "verilator": 10, "icarus": 1}
"""Networks of a unit, see `lab.suites.operators.TOGETHER`."""

ODD_EVERY = 4
"""One of so many networks is an odd one."""


def run(unit: Unit, trace: Path | None = None) -> Result:
    """Run the networks of a unit; those that fail are shrunk."""
    budget = Budget()
    if unit.backend == "golden":
        return Result([in_golden(unit, seed, budget) for seed in unit.seeds])
    return Result(_on_rtl(unit, trace, budget))


def is_odd(seed: int) -> bool:
    """Return whether the network of a seed is one of `eightfold.cases.networks`."""
    return seed % ODD_EVERY == ODD_EVERY - 1


def in_golden(unit: Unit, seed: int, budget: Budget) -> Case:
    """Compare golden with the reference's kernels on every tensor of one network.

    An odd one also runs as commands on the accelerator's model in numpy, in an odd configuration.
    """
    try:
        draw = odd_network if is_odd(seed) else random_network
        model, inputs = draw(network_rng(seed), operators=DRAWN - RUNTIMES[unit.reference].lacks)
    except Exception as error:
        return error_case(seed, "", error)

    def on_machine(graph: Graph, values: Arrays) -> Found:
        return differs_on_machine(graph, values, seed, unit.reference) if is_odd(seed) else None

    judge = partial(common.golden_case, unit, seed, further=on_machine)
    return smaller_network(judge(model, inputs), model, inputs, judge, budget, unit.reference)


@dataclass(frozen=True)
class Network(Drawn):
    """A random network that is one stream, and inputs, of which RTL runs each."""

    stream: Compiled
    batch: Sequence[Arrays]

    def arena(self, given: Arrays) -> dict[int, np.ndarray]:
        """Return what lies in the arena before a run, by offset."""
        tensors = {**self.graph.initial_state(), **given}
        return {offset: tensors[tensor] for tensor, offset in self.stream.inputs.items()}

    def outputs(self, result: RunResult) -> dict[int, np.ndarray]:
        """Return the tensors that a run has left in the arena."""
        kinds = self.graph.tensors
        return {
            tensor: result.tensor(offset, kinds[tensor].shape, kinds[tensor].dtype)
            for tensor, offset in self.stream.outputs.items()
        }


def make_network(unit: Unit, seed: int) -> Network:
    """Draw a network, and compile it; with two inputs."""
    rng = network_rng(seed)
    model, inputs = random_network(rng, operators=_for_accelerator(unit), lengths=(3, 12))
    return _compiled(unit, seed, model, [inputs, _others(rng, inputs)])


def make_odd_network(unit: Unit, seed: int) -> Network:
    """Draw an odd network, and compile what the unit's accelerator takes of it; with two inputs."""
    rng = network_rng(seed)
    most = MOST_ELEMENTS if unit.backend == "icarus" else MAX_ELEMENTS
    model, inputs = odd_network(rng, operators=_for_accelerator(unit), max_elements=most)
    values = inputs | run_graph(load_model(model), inputs, unit.reference)
    while True:
        graph = load_model(model)
        network = compile_network(graph, unit.configuration(), unit.reference, fallback=True)
        taken = [o.index for o in graph.operators if o.index not in network.reasons]
        if not taken:
            raise InputError(f"no operator runs here: {'; '.join(network.reasons.values())}")
        if not network.reasons:
            inputs = fitting_inputs(graph, values)
            return _compiled(unit, seed, model, [inputs, _others(rng, inputs)])
        model = part_of(model, taken)


def _for_accelerator(unit: Unit) -> frozenset[str]:
    return HARDWARE - RUNTIMES[unit.reference].lacks


def _others(rng: np.random.Generator, inputs: Arrays) -> Arrays:
    """Return other codes for the inputs that are codes."""
    return {
        tensor: rng.integers(0, 256, array.shape).astype(np.uint8).view(array.dtype)
        if array.dtype in (np.int8, np.uint8)
        else array
        for tensor, array in inputs.items()
    }


def _compiled(unit: Unit, seed: int, model: bytes, batch: Sequence[Arrays]) -> Network:
    graph = load_model(model)
    (stream,) = compile_network(graph, unit.configuration(), unit.reference, keep=True).streams
    return Network(seed, model, graph, stream, batch)


def _on_rtl(unit: Unit, trace: Path | None, budget: Budget) -> list[Case]:
    """Run networks one after the other in one simulation; where that fails, each in its own."""
    cases, made = [], []
    for seed in unit.seeds:
        try:
            made.append((make_odd_network if is_odd(seed) else make_network)(unit, seed))
        except InputError as error:
            cases.append(common.refused_case(seed, "", str(error)))
        except Exception as error:
            cases.append(error_case(seed, "", error))
    found = common.together_or_alone(_simulated, unit, made, trace)
    cases += [_smaller(unit, each, case, budget) for each, case in zip(made, found, strict=True)]
    return sorted(cases, key=lambda case: case.seed)


def _smaller(unit: Unit, made: Network, case: Case, budget: Budget) -> Case:
    """Return the case with the fewest operators that fail in a simulation of their own."""

    def judge(model: bytes, inputs: Arrays) -> Case:
        try:
            part = _compiled(unit, made.seed, model, [inputs])
            return _simulated(unit, [part], None)[0]
        except Exception as error:
            return error_case(made.seed, "", error, model)

    inputs = made.batch[0]
    if case.evidence and case.evidence.inputs:
        inputs = case.evidence.inputs
    return smaller_network(case, made.model, inputs, judge, budget, unit.reference)


def _simulated(unit: Unit, made: Sequence[Network], trace: Path | None) -> list[Case]:
    turn = unit.first // TOGETHER[unit.backend]
    found = simulate_together(
        made,
        unit.simulator,
        stall=unit.stalls(turn),
        seed=unit.first,
        netlist=unit.netlist,
        trace=trace,
    )
    return [_compared(unit, each, runs) for each, runs in zip(made, found, strict=True)]


def _compared(unit: Unit, made: Network, runs: Sequence[dict[int, np.ndarray]]) -> Case:
    for given, tensors in zip(made.batch, runs, strict=True):
        golden = run_graph(made.graph, given, unit.reference)
        if found := common.against_golden(made.graph, tensors, golden):
            return common.compared_case(made.seed, "", made.model, given, found)
    return Case(seed=made.seed, verdict="passed")


Judge = Callable[[bytes, Arrays], Case]
"""Gives the case of a model and its inputs."""

WHOLE = "whole.tflite"
"""The file of the network as it was drawn, among those of a case that was shrunk."""


def smaller_network(
    case: Case,
    model: bytes,
    inputs: Arrays,
    judge: Judge,
    budget: Budget,
    reference: Reference = "litert",
) -> Case:
    """Return a case whose evidence is of the fewest operators that fail as all of them do.

    - ``case``: how the whole network ended; its verdict and message stay. One that is good stays
      whole.
    - ``model``, ``inputs``: the network. A tensor that the operators left out have made becomes an
      input, with golden's values, those of ``reference``.
    - ``judge``: runs a part. It fails in the same way if its verdict is the same, and its message
      begins with the same words, numbers apart.
    """
    if case.verdict in GOOD:
        return case
    ways: dict[tuple[int, ...], Case] = {}

    def fails(operators: list[int]) -> bool:
        part = part_of(model, operators)
        with suppress(Exception):  # what does not load makes no sense without the others
            found = judge(part, fitting_inputs(load_model(part), values))
            ways[tuple(operators)] = found
            return (found.verdict, _way(found)) == (case.verdict, _way(case))
        return False

    try:
        graph = load_model(model)
    except Exception:  # which is what failed
        return case
    values = dict(inputs)
    with suppress(Exception):
        values |= run_graph(graph, values, reference)
    left = shrink([operator.index for operator in graph.operators], fails, budget)
    evidence = case.evidence or Evidence()
    if len(left) == len(graph.operators):
        return case
    found = ways[tuple(left)]
    names = ", ".join(str(graph.operators[number]) for number in left)
    log = (
        f"shrunk to {len(left)} of {len(graph.operators)} operators, which fail in the same way; "
        f"{WHOLE} has all: {names or 'none'}"
    )
    smaller = found.evidence or evidence
    log = "\n".join([log, "", found.message, "", smaller.log])
    return replace(case, evidence=replace(smaller, log=log, files={WHOLE: model}))


_WORDS = 60  # characters of a message that say what failed: names of tensors may follow


def _way(case: Case) -> str:
    return re.sub(r"\d+", "0", case.message)[:_WORDS].partition(",")[0]


def simulate_together(
    networks: Sequence[Network],
    simulator: Simulator,
    *,
    stall: float,
    seed: int,
    netlist: str = "",
    trace: Path | None = None,
) -> list[list[dict[int, np.ndarray]]]:
    """Return for each network, and each of its inputs, the tensors that the accelerator kept."""
    runs = [
        Run(
            inputs=network.arena(given),
            words=network.stream.words,
            model=network.stream.model,
            registers={"ARENA_SIZE": network.stream.arena},
        )
        for network in networks
        for given in network.batch
    ]
    first = networks[0].stream
    results = iter(
        run_system(
            first.config,
            simulator,
            words=first.words,
            model=first.model,
            arena_bytes=max(network.stream.arena for network in networks),
            runs=runs,
            stall=stall,
            seed=seed,
            accelerator=accelerator_source(first.config, netlist),
            trace=trace,
        )
    )
    found = []
    for network in networks:
        done = list(islice(results, len(network.batch)))
        for result in done:
            assert result.done, (str(network.graph.operators), result.error, result.index)
        found.append([network.outputs(result) for result in done])
    return found


def differs_on_machine(graph: Graph, values: Arrays, seed: int, reference: Reference) -> Found:
    """Return what commands for a random configuration compute otherwise than golden; None: nothing.

    Once of the network as it is, layer by layer if it fits, and once of the network as rewritten.
    ``graph``: a network; what the configuration does not take of it is left out. ``values``:
    golden's tensors, and the inputs. ``seed``: of the configuration, and of the order in which
    engines take their turns. What is returned is as of `lab.suites.common.compare`.
    """
    config = common.random_config(np.random.default_rng([0x0DD, seed]))
    size = f"{config.lanes}x{config.width}"
    network = compile_network(graph, config, reference, fallback=True, keep=True)
    for segment in network.segments:
        if segment.compiled is None:
            continue
        got = run_compiled(segment.compiled, graph, values, seed=seed)
        names = (f"commands for {size}", "golden")
        if found := common.compare(graph, segment.operators, values, got, values, names):
            return _of(config, found)
    prepared = prepare(graph, config, reference, fallback=True, keep=seed % 8 < 4)
    got = _rewritten(prepared, values, seed, reference)
    names = (f"rewritten commands for {size}", "golden")
    shown = [o for o in graph.operators if got.keys() >= set(o.outputs)]
    found = common.compare(graph, shown, values, got, values, names)
    return None if found is None else _of(config, found)


def _rewritten(
    prepared: Prepared, values: Arrays, seed: int, reference: Reference
) -> dict[int, np.ndarray]:
    """Return what a network's streams compute, one after the other; every tensor that was kept."""
    rewritten = prepared.rewritten
    source = rewritten.source
    inputs = {tensor: values[tensor] for tensor in source.given}
    known = run_prepared(prepared, inputs, reference, seed)
    computed = {tensor for operator in source.operators for tensor in operator.outputs}
    wanted = computed & {
        *source.results,
        *(t for t, h in rewritten.held.items() if h.tensor in known),
    }
    return rebuild(rewritten, known, wanted, reference)


def _of(config: AcceleratorConfig, found: tuple[str, Evidence]) -> tuple[str, Evidence]:
    """Return what was found, with the configuration in its log."""
    message, evidence = found
    return message, replace(evidence, log=f"{evidence.log}\n\n{config}".lstrip())


SUITE = Suite(
    name="networks",
    text="random networks of several operators, every tensor; each fourth is an odd one",
    run=run,
    plan=common.plan_in_units("networks", TOGETHER),
    options=common.SIMULATED,
    cases=100,
    backends=("golden", "verilator", "icarus"),
    runtime=common.golden_reference,
    designs=common.accelerator_designs,
)
