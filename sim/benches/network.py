"""Runs whole networks inside the simulator: the lane array where it can, golden elsewhere."""

from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from eightfold.compiler import compile_network
from eightfold.config import AcceleratorConfig
from eightfold.errors import InputError
from eightfold.execute import run_operator
from eightfold.model import load_model
from sim.benches.support import parameters, progress, report, start_clock_and_reset
from sim.lane_array import LaneArray


@cocotb.test()
async def network(dut: Any) -> None:
    """Run every input of the job; write all tensors, and report cycles per operator."""
    job = parameters()
    folder = Path(job["folder"])
    try:
        report(await _run(dut, job, folder))
    except InputError as error:
        report({"error": str(error)})


async def _run(dut: Any, job: dict[str, Any], folder: Path) -> dict[str, Any]:
    graph = load_model((folder / "model.tflite").read_bytes())
    config = AcceleratorConfig(**job["config"])
    programs, reasons = compile_network(graph, config, job["reference"])
    array = LaneArray(dut)  # before the reset: what is not driven is X on Icarus, and stays
    await start_clock_and_reset(dut)
    cycles: dict[int, int] = {}
    total = job["runs"] * len(graph.operators)
    for run in range(job["runs"]):
        with np.load(folder / f"input_{run}.npz", allow_pickle=False) as archive:
            values = {int(name): archive[name] for name in archive.files}
        for step, operator in enumerate(graph.operators):
            progress(run * len(graph.operators) + step, total, f"{operator.index} {operator.name}")
            if program := programs.get(operator.index):
                source = values[operator.inputs[0]]
                values[operator.outputs[0]], cycles[operator.index] = await array.run(
                    program, source
                )
            else:
                outputs = run_operator(graph, operator, values, job["reference"])
                values.update(zip(operator.outputs, outputs, strict=True))
        arrays = {str(index): tensor for index, tensor in values.items()}
        np.savez(folder / f"output_{run}.npz", allow_pickle=False, **arrays)
    searched = {str(index): getattr(p, "searched", 0) for index, p in programs.items()}
    return {
        "cycles": {str(index): count for index, count in cycles.items()},
        "reasons": {str(index): text for index, text in reasons.items()},
        "searched": searched,
    }
