"""What each operator of a network took, in a simulation or by the estimate, for reports."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from eightfold.model import Graph
from eightfold.operators import count_macs, host_operators
from eightfold.run.report import HOST, REWRITTEN, OperatorReport
from eightfold.target.config import AcceleratorConfig

if TYPE_CHECKING:  # the compiler loads only when needed
    from eightfold.compiler.passes import Prepared
    from eightfold.isa.shares import Work


def golden_reports(graph: Graph) -> list[OperatorReport]:
    """Return a report for each operator of a graph that golden, at the edges the host computes."""
    host = host_operators(graph)
    return [
        OperatorReport(
            index=operator.index,
            name=operator.name,
            shape=graph.tensors[operator.outputs[0]].shape,
            macs=count_macs(graph, operator),
            where=HOST if operator.index in host else "golden",
        )
        for operator in graph.operators
    ]


def hardware_reports(
    graph: Graph,
    prepared: "Prepared",
    config: AcceleratorConfig,
    cycles: Mapping[int, int] | None = None,
    work: "Mapping[int, Work] | None" = None,
) -> list[OperatorReport]:
    """Return a report for each operator of a graph that was prepared for the accelerator.

    Parameters
    ----------
    cycles, work
        By operator on the accelerator, as `eightfold.estimate.estimate.Estimate` has them; None
        where no pass was timed.
    """
    network, rewritten = prepared.network, prepared.rewritten
    gone = rewritten.gone()
    done = {op.index: count_macs(rewritten.graph, op) for op in rewritten.graph.operators}
    reports = golden_reports(graph)
    for report in reports:
        index = report.index
        report.rewritten = rewritten.applied_to(index)
        report.reason = network.reasons.get(index)
        report.searched = network.searched.get(index, 0)
        if index in gone:
            report.where = REWRITTEN
            report.hardware_macs = 0
        elif report.reason is None and report.where != HOST:
            report.where = "hardware"
            report.hardware_macs = done[index]
            if cycles is not None and work is not None:
                _add_cycles(report, cycles[index], work.get(index), config.macs_per_cycle)
    return reports


def _add_cycles(
    report: OperatorReport, cycles: int, work: "Work | None", macs_per_cycle: int
) -> None:
    report.cycles = cycles
    report.engine_cycles = work.engines if work else 0
    report.multiplier_cycles = work.multipliers if work else 0
    if report.hardware_macs and report.multiplier_cycles:
        possible = report.multiplier_cycles * macs_per_cycle
        report.utilisation = report.hardware_macs / possible
