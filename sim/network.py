"""One simulation of a whole network, for `eightfold.Session`."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eightfold.config import AcceleratorConfig
from eightfold.errors import InputError
from sim.build import Unit
from sim.runner import Progress, run_bench
from sim.toolchain import Simulator


@dataclass(frozen=True, kw_only=True)
class NetworkRun:
    """What a simulation yields.

    ``tensors`` has all tensors of each run. Per operator index: ``cycles`` in hardware, ``reasons``
    for golden, ``searched`` channels (see `eightfold.compiler.program.LaneProgram`).
    """

    tensors: list[dict[int, np.ndarray]]
    cycles: dict[int, int]
    reasons: dict[int, str]
    searched: dict[int, int]


def simulate_network(
    model: bytes,
    batch: Sequence[Mapping[int, np.ndarray]],
    *,
    config: AcceleratorConfig,
    simulator: Simulator,
    reference: str,
    trace: Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> NetworkRun:
    """Run ``model`` once for each input of ``batch`` on the lane array, in one simulation.

    Raises
    ------
    InputError
        From the model or its operators, or if a tool is missing.
    sim.runner.BenchFailed
        If the hardware hangs or breaks a rule of its streams.
    """
    with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
        folder = Path(name)
        (folder / "model.tflite").write_bytes(model)
        for index, inputs in enumerate(batch):
            arrays = {str(tensor): array for tensor, array in inputs.items()}
            np.savez(folder / f"input_{index}.npz", allow_pickle=False, **arrays)
        job = {
            "folder": str(folder),
            "runs": len(batch),
            "config": config.as_dict(),
            "reference": reference,
        }
        result = run_bench(
            Unit("datapath", config),
            "sim.benches.network",
            simulator,
            parameters=job,
            trace=trace,
            on_progress=on_progress,
        ).report
        if "error" in result:
            raise InputError(result["error"])
        tensors = [_load(folder / f"output_{index}.npz") for index in range(len(batch))]
    return NetworkRun(
        tensors=tensors,
        cycles={int(index): count for index, count in result["cycles"].items()},
        reasons={int(index): text for index, text in result["reasons"].items()},
        searched={int(index): count for index, count in result["searched"].items()},
    )


def _load(path: Path) -> dict[int, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        return {int(name): archive[name] for name in archive.files}
