"""A draft is an adapter that works where names are usual, and asks where they are not."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from eightfold.cli.main import commands
from eightfold.common.errors import InputError
from eightfold.conformance.adapters.adapter import load_adapter
from eightfold.conformance.adapters.stream import StreamAdapter
from eightfold.conformance.profile import Profile
from eightfold.conformance.units.registry import unit_cases
from tests.support.conformance import streams
from tests.support.conformance.streams import ADDS

HERE = Path(streams.__file__).parent

needs_ghdl = pytest.mark.skipif(shutil.which("ghdl") is None, reason="no GHDL")


def init(file: Path, *options: str) -> None:
    arguments = ["conform", "init", str(file), *options, "-o", str(file.parent)]
    commands(arguments, standalone_mode=False)


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus")
def test_a_module_with_usual_names_is_asked_as_it_was_drafted(tmp_path: Path) -> None:
    shutil.copy(HERE / "requantize.v", tmp_path)
    init(tmp_path / "requantize.v")
    profile = Profile.load(str(tmp_path / "requantize.toml"))
    assert profile.limits.shift == (-31, 0)
    adapter = load_adapter(f"{tmp_path / 'requantize_adapter.py'}:Requantize")
    assert isinstance(adapter, StreamAdapter)
    cases = unit_cases("requantizer", profile).take(np.arange(0, 1000, 5))
    answers = adapter.answer(cases.inputs, simulator="icarus")
    np.testing.assert_array_equal(answers.results["result"], cases.results["result"])


ODD = """module inner (input a, output b); assign b = a; endmodule
module outer (
  input clk_i, arst_ni, start_i, input [23:0] acc_i, input [16:0] scale_i, input [5:0] shift_i,
  input [3:0] mode, output done_o, output [7:0] q_o
);
  inner part (.a(start_i), .b(done_o));
endmodule
"""


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        (
            "odd.sv",
            ODD,
            (
                'sources, top = ["odd.sv"], "outer"',
                'clock = "clk_i"',
                'reset, reset_active = "arst_ni", 0',
                'in_valid = "start_i"',
                'out_valid = "done_o"',
                '"acc_i": "accumulator",',
                '"shift_i": "-shift",  # edit: the spec',
                '"mode": 0,  # edit: 4 bits, and not understood',
                "# no port was found for zero_point: ",
                'outputs = {"result": "q_o"}',
                "accumulator_bits = 24",
                "multiplier_bits = 18  # edit:",
                "zero_points = [0]  # edit: no port",
            ),
        ),
        (
            "adds.py",
            ADDS.replace("self, more", "self, more=5"),
            ('component = "adds.py:Adds"', 'clock = "clk"', '"acc": "accumulator",', "latency = 1"),
        ),
        pytest.param(
            "requantize.vhd",
            (HERE / "requantize.vhd").read_text(),
            ('top = ["requantize.vhd"], "requantize"', '"shr": "-shift",  # to the right'),
            marks=needs_ghdl,
        ),
    ],
)
def test_what_is_not_understood_is_to_be_edited(
    name: str, text: str, lines: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text(text)
    init(file)
    written = file.with_name(f"{file.stem}_adapter.py").read_text()
    profile = file.with_suffix(".toml").read_text()
    for line in lines:
        assert line in written + profile
    compile(written, name, "exec")
    Profile.load(str(file.with_suffix(".toml")))
    with pytest.raises(InputError, match="already there; remove it"):
        init(file)


def test_of_several_modules_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "two.v").write_text("module a; endmodule\nmodule b; endmodule\n")
    with pytest.raises(InputError, match="has a, b; name the one to judge with --top"):
        init(tmp_path / "two.v")
