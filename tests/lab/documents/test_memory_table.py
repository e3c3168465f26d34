"""The table of networks over memories: its cells, and where the port is called the limit."""

from eightfold.common.files import IMPORT_ROOT
from eightfold.estimate.estimate import Estimate
from eightfold.model import Graph, load_model
from eightfold.target.memory import PROFILES
from lab.documents.memory_table import estimated, memory_table

DIGITS = load_model(IMPORT_ROOT / "examples" / "digits" / "digits.tflite")


def test_cells_have_cycles_and_the_buss_share() -> None:
    def taken(graph: Graph, config: str, memory: str) -> Estimate:
        assert graph is DIGITS
        cycles = {"ideal": 900, "sdr-sdram-16": 1000}.get(memory, 1800)
        return Estimate({0: cycles, 1: 200 if config == "base" else 0}, {}, 900)

    head, _, small, base = memory_table([("D", DIGITS)], ("small", "base"), taken).splitlines()
    assert head == f"| network | preset | {' | '.join(f'`{name}`' for name in PROFILES)} |"
    cells = "900 (**100.0 %**) | 1,800 (50.0 %) | 1,800 (50.0 %) | 1,000 (**90.0 %**)"
    assert small == f"| D | `small` | {cells} |"
    cells = "1,100 (81.8 %) | 2,000 (45.0 %) | 2,000 (45.0 %) | 1,200 (75.0 %)"
    assert base == f"| D | `base` | {cells} |"


def test_a_slow_memory_makes_the_port_the_limit() -> None:
    fast, slow = (estimated(DIGITS, "base", memory) for memory in ("ideal", "sdr-sdram-16"))
    assert fast.bus < 0.9 * fast.total
    assert 0.9 * slow.total <= slow.bus <= slow.total
