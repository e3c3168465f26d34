"""Area and clock figures of the hardware's units: Yosys and nextpnr on a list of jobs.

`main_jobs` is what ``eightfold synth`` and ``make synth`` run; `run_synthesis` measures one unit.
docs/synthesis.md says what the figures mean.
"""

from eightfold.synth.device import FAMILIES, Device
from eightfold.synth.flow import run_synthesis
from eightfold.synth.jobs import DEFAULT_JOBS, Job, main_jobs, main_liberty
from eightfold.synth.report import SynthesisResult, markdown_table, write_between_markers

__all__ = [
    "DEFAULT_JOBS",
    "FAMILIES",
    "Device",
    "Job",
    "SynthesisResult",
    "main_jobs",
    "main_liberty",
    "markdown_table",
    "run_synthesis",
    "write_between_markers",
]
