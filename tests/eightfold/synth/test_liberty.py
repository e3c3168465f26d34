"""Gate equivalents: what counts of a liberty file, and units mapped to a tiny library."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from eightfold.cli.hardware import synth
from eightfold.common.errors import InputError
from eightfold.synth.liberty import count_gates, gate_table, read_liberty
from eightfold.target.config import PRESETS

NANO = PRESETS["nano"]


def cell(name: str, area: float, inputs: str, function: str, extra: str = "") -> str:
    pins = "".join(f"    pin({pin}) {{ direction : input; }}\n" for pin in inputs)
    output = f'    pin(Y) {{\n      direction : output;\n      function : "{function}";\n    }}\n'
    return f"  cell ({name}) {{\n    area : {area};\n{extra}{pins}{output}  }}\n"


FLOP = '    ff (IQ, IQN) {\n      clocked_on : "C";\n      next_state : "D";\n    }\n'
CELLS = {
    "inverter": cell("INV", 2.0, "A", "!A"),
    "buffer": cell("BUF", 2.5, "A", "A"),
    "nand": cell("NAND2", 3.0, "AB", "!(A * B)"),
    "large": cell("NAND2X4", 9.0, "AB", "(A&B)'"),
    "and": cell("AND2", 4.5, "AB", "(A*B)"),
    "flop": cell("DFF", 15.0, "CD", "IQ", FLOP),
}


def library(*names: str) -> str:
    return "library (tiny) {\n" + "".join(CELLS[name] for name in names or CELLS) + "}\n"


# Eight flip-flops, eight ANDs, and a memory of as many words as the parameter says.
UNIT = """module unit(input clk, input we, input [{top}:0] at, input [7:0] a, input [7:0] b,
            output reg [7:0] q, output reg [3:0] r);
    reg [3:0] ram [0:{last}];
    always @(posedge clk) begin q <= a & b; r <= ram[at]; if (we) ram[at] <= a[3:0]; end
endmodule
"""


def test_a_gate_is_the_smallest_nand_of_two_inputs() -> None:
    found = read_liberty(library(), "file")
    assert (found.nand2, found.sequential) == (3.0, {"DFF"})
    sizes = {"INV": 2.0, "BUF": 2.5, "NAND2": 3.0, "NAND2X4": 9.0, "AND2": 4.5, "DFF": 15.0}
    assert found.areas == sizes
    assert read_liberty(library("large", "flop"), "file").nand2 == 9.0


@pytest.mark.parametrize(
    ("cells", "lacks"),
    [
        (["inverter", "and", "flop"], "no NAND of two inputs"),
        (["inverter", "and"], "no flip-flop and no NAND of two inputs"),
        ([], "no cell with an area and no flip-flop and no NAND of two inputs"),
    ],
    ids=["no NAND", "no flip-flop", "empty"],
)
def test_a_library_that_lacks_something_is_refused(cells: list[str], lacks: str) -> None:
    text = library(*cells) if cells else "library (tiny) {}"
    with pytest.raises(InputError, match=rf"^file: {lacks}; give a liberty file of cells$"):
        read_liberty(text, "file")


@pytest.mark.slow
@pytest.mark.usual(names=["256"])
@pytest.mark.parametrize("words", [128, 256])
def test_cells_are_counted_and_large_memories_apart(tmp_path: Path, words: int) -> None:
    file = tmp_path / "tiny.lib"
    file.write_text(library())
    stages: list[str] = []
    verilog = UNIT.format(top=words.bit_length() - 2, last=words - 1)
    counted = [
        count_gates("unit", NANO, file, config_name="nano", out=tmp_path, verilog=verilog,
                    stage=stages.append) for _ in range(2)
    ]  # fmt: skip
    assert counted[0] == counted[1], "kept by content"
    assert stages == ["synthesis"]
    found = counted[0]
    memory_bits = 0 if words >= 256 else 4 * words
    assert found.memories == ({"256 x 4": 1} if words >= 256 else {})
    assert found.ffs in (memory_bits + 8, memory_bits + 12), "the RAM may have the read register"
    assert found.sequential == 5 * found.ffs, "a flip-flop's area is that of five NANDs"
    if words >= 256:
        assert found.gates == found.sequential + 8 * 1.5, "an AND's is that of one and a half"
    assert f"| unit | nano | tiny | {found.gates / 1000:.1f} |" in gate_table([found])
    assert found.warnings == []


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    options = ["--liberty", str(tmp_path / "none.lib"), "--unit", "requantizer"]
    for extra, message in (
        ([], f"--liberty {tmp_path / 'none.lib'}: No such file or directory"),
        (["--above", "100"], "--liberty counts gates only; leave out --docs and --above"),
    ):
        done = CliRunner().invoke(synth, [*options, *extra])
        assert isinstance(done.exception, InputError)
        assert str(done.exception) == message
