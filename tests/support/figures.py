"""What the figures of every run must be: cycles that add up, multipliers that do what they can."""

from collections.abc import Iterator, Mapping, Sequence

from eightfold.compiler.passes import CompiledNetwork
from eightfold.isa.shares import Work, vectors
from eightfold.model import Graph
from eightfold.operators import count_macs
from eightfold.run.report.result import OperatorReport
from eightfold.target.config import AcceleratorConfig


def expect_honest_figures(operators: Sequence[OperatorReport], cycles: int | None) -> None:
    """Check the operators' cycles against the total, and that no utilisation is above 1."""
    assert sum(operator.cycles or 0 for operator in operators) == cycles
    for operator in operators:
        assert (operator.engine_cycles or 0) >= (operator.multiplier_cycles or 0), operator
        # Of two computed operands the vector engine makes the products, not the multipliers.
        elsewhere = operator.name == "BATCH_MATMUL" and operator.multiplier_cycles == 0
        idle = elsewhere or not operator.hardware_macs
        assert (operator.utilisation is None) == idle, operator
        assert operator.utilisation is None or 0 < operator.utilisation <= 1, operator


def expect_honest_work(
    graph: Graph,
    network: CompiledNetwork,
    cycles: Mapping[int, int],
    work: Mapping[int, Work],
    total: int,
) -> None:
    """Check the same of a simulation or an estimate, before it is a report."""
    assert sum(cycles.values()) == total
    for config, operator in _on_the_accelerator(network):
        taken = work.get(operator, Work())
        assert taken.engines >= taken.multipliers
        done = graph.operator(operator)
        if done.name != "BATCH_MATMUL" or taken.multipliers:
            assert count_macs(graph, done) <= taken.multipliers * config.macs_per_cycle, done


def issued_vectors(network: CompiledNetwork) -> int:
    """Return how many vectors the matrix engine is to issue."""
    return sum(vectors(command) for stream in network.streams for command in stream.issued)


def _on_the_accelerator(network: CompiledNetwork) -> Iterator[tuple[AcceleratorConfig, int]]:
    for segment in network.segments:
        if segment.compiled is not None:
            for operator in segment.operators:
                yield segment.compiled.config, operator.index
