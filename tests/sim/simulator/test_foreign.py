"""Ports of somebody else's module are right whatever way its header is written in."""

from pathlib import Path

import pytest

from eightfold.common.errors import InputError
from eightfold.sim.simulator.foreign import Foreign, Port, read_module, without_comments

SOURCE = """
// module commented (input nothing);
/* module also_commented; */
package types;
  typedef enum logic [2:0] {A, B} kind_t;
  typedef struct packed { kind_t kind; logic signed [4:0] value; } both_t;
endpackage
`include "widths.vh"
module ansi import types::*; #(
  parameter int WIDTH = 8, parameter DEPTH = `DEPTH, parameter NAME = "a,b)"
) (
  input wire clk, rst_n,  // two (of one declaration), each
  input wire signed [WIDTH-1:0] a, b,
  input both_t both,
  input logic [DEPTH-1:0][1:0] packed_list,
  input logic [7:0] unpacked [0:3],
  output reg [$clog2(WIDTH):0] double__under
);
endmodule
module old (a, y, z);
  parameter N = 4;
  input [0:N] a;
  output y;
  output reg [N-1:0] z;
endmodule
"""


@pytest.fixture
def foreign(tmp_path: Path) -> Foreign:
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "widths.vh").write_text("`define DEPTH 3\n")
    (tmp_path / "a.sv").write_text(SOURCE)
    return Foreign((tmp_path / "a.sv",), (tmp_path / "headers",))


def test_ports_have_names_directions_and_widths(foreign: Foreign) -> None:
    ports = read_module(foreign, "ansi", {"WIDTH": 12, "NAME": 'quoted "text"'}).ports
    assert list(ports.values()) == [
        Port("clk", True, 1),
        Port("rst_n", True, 1),
        Port("a", True, 12),
        Port("b", True, 12),
        Port("both", True, 8),
        Port("packed_list", True, 6),
        Port("unpacked", True, 32, (0, 3)),
        Port("double__under", False, 5),
    ]


def test_headers_of_old_have_their_ports_too(foreign: Foreign) -> None:
    ports = read_module(foreign, "old", {"N": 7}).ports
    assert list(ports.values()) == [Port("a", True, 8), Port("y", False, 1), Port("z", False, 7)]


def test_modules_are_those_that_are_not_commented(foreign: Foreign) -> None:
    assert foreign.modules() == ["ansi", "old"]
    with pytest.raises(InputError, match="no module 'commented' in a.sv; there is ansi, old"):
        read_module(foreign, "commented", {})
    assert without_comments('a = "// no /* comment"; // one') == 'a = "// no /* comment";  '


def test_a_recipe_follows_what_is_included(foreign: Foreign, tmp_path: Path) -> None:
    before = foreign.recipe()
    (tmp_path / "headers" / "widths.vh").write_text("`define DEPTH 4\n")
    assert foreign.recipe() != before
    other = Foreign(foreign.sources, foreign.includes, (("X", 1),))
    assert other.recipe() != foreign.recipe()


def test_keywords_of_systemverilog_may_be_names_in_verilog(tmp_path: Path) -> None:
    file = tmp_path / "names.v"
    file.write_text("module names (input before, output bit); assign bit = before; endmodule\n")
    with pytest.raises(InputError, match="names.v:1:21: syntax error, unexpected before"):
        read_module(Foreign((file,)), "names", {})
    foreign = Foreign((file,), systemverilog=False)
    assert list(read_module(foreign, "names", {}).ports) == ["before", "bit"]


def test_an_error_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "b.v").write_text("module b (input a);\n  wire x = ;\nendmodule\n")
    with pytest.raises(InputError, match=r"module b: %Error: .*b.v:2:12: syntax error"):
        read_module(Foreign((tmp_path / "b.v",)), "b", {})


def test_what_verilator_finds_by_itself_is_part_of_a_build(tmp_path: Path) -> None:
    """A module that no source has, and a file whose name is a macro."""
    top = tmp_path / "top.v"
    top.write_text(
        '`define NAME "header.vh"\n`include `NAME\nmodule top(input a);\n  part p(a);\nendmodule\n'
    )
    header, part = tmp_path / "header.vh", tmp_path / "part.v"
    header.write_text("")
    part.write_text("module part(input a);\nendmodule\n")
    module = read_module(Foreign((top,)), "top", {})
    assert list(module.files) == [header, part, top]
    whole = Foreign((top,), others=module.files)
    for file in (header, part):
        before = whole.recipe()
        file.write_text(f"// changed\n{file.read_text()}")
        assert whole.recipe() != before
