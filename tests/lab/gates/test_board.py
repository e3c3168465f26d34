"""The netlist of a whole board, its PLL and pads as models, computes digits through its pins."""

import json
from pathlib import Path

import pytest

pytest.importorskip("litedram", reason="LiteX is not installed: pip install 'eightfold[board]'")

from eightfold.boards.bitstream import map_board, write_project
from eightfold.boards.host import Loaded, open_board
from eightfold.boards.simulation import BIT, run_bench
from eightfold.compiler import compile_network
from eightfold.operators import load_int8
from eightfold.target.config import PRESETS
from examples.digits.network import MODEL_FILE
from lab.gates.verilog import to_verilog

AROUND = """
module soc(input clk, input rst, input serial_rx, output serial_tx);
board board(.clk25(clk), .rst(rst), .serial_rx(serial_rx), .serial_tx(serial_tx));
endmodule
"""


@pytest.mark.long
def test_the_netlist_of_a_board_computes_digits(tmp_path: Path) -> None:
    config = PRESETS["nano"]
    clock = write_project("ulx3s-45f", config, "block-ram", tmp_path, baud=50_000_000 // BIT).clock
    map_board(tmp_path)
    netlist = json.loads((tmp_path / "netlist.json").read_text(encoding="utf-8"))
    texts = {"board.v": to_verilog(netlist, "board"), "soc.v": AROUND}
    graph = load_int8(MODEL_FILE.read_bytes())
    (stream,) = compile_network(graph, config).streams
    with run_bench(texts) as port, open_board(port, clock // BIT, patience=600) as board:
        assert (board.clock, board.config) == (clock, "nano")
        loaded = Loaded(board, stream, config)
        assert loaded.compare(graph).cycles > 0
