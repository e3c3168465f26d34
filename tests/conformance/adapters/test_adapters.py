"""Adapters are light to load and find their sources; formulas and bits mean what they say."""

import runpy
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import eightfold.conformance.adapters as room
from eightfold.cli.main import commands
from eightfold.common.errors import InputError
from eightfold.conformance.adapters.adapter import load_adapter
from eightfold.conformance.adapters.bits import PortBits, check_range, read_words, write_words
from eightfold.conformance.adapters.formulas import evaluate
from eightfold.conformance.adapters.stream import StreamAdapter
from eightfold.conformance.answers import MISSING, UNKNOWN
from eightfold.conformance.profile import Profile
from eightfold.conformance.tensors import Element
from eightfold.conformance.units.registry import unit_cases
from tests.support.conformance import streams
from tests.support.conformance.streams import ADDS, bytes_of, columns, needs_ghdl, needs_icarus

ADAPTER = """
from eightfold.conformance.adapters import StreamAdapter


class Mine(StreamAdapter):
    sources = ["rtl/mine.v"]
    top = "mine"
    clock = None
    latency = 0
    inputs = {"x": "accumulator"}
    outputs = {"result": "y[7:0]"}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "rtl").mkdir()
    source = "module mine (input [31:0] x, output [31:0] y); assign y = x; endmodule\n"
    (tmp_path / "rtl" / "mine.v").write_text(source)
    (tmp_path / "mine.py").write_text(ADAPTER)
    return tmp_path / "mine.py"


def test_an_adapter_in_a_file_finds_its_sources_beside_it(file: Path) -> None:
    spec = spec_from_file_location("mine", file)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)  # which is not in sys.modules
    for kind in (module.Mine, runpy.run_path(str(file))["Mine"]):
        answers = kind().answer(columns(20), simulator="icarus")
        assert np.array_equal(answers.results["result"], bytes_of(columns(20)["accumulator"]))


def test_every_public_name_is_there() -> None:
    assert dir(room) == sorted(room.__all__)
    for name in room.__all__:
        assert getattr(room, name).__name__ == name
    with pytest.raises(AttributeError, match="Other"):
        _ = room.Other  # pyright: ignore[reportAttributeAccessIssue]


def test_no_simulator_is_loaded_with_an_adapter(file: Path) -> None:
    program = (
        f"import runpy, sys; runpy.run_path({str(file)!r})\n"
        "from eightfold.conformance.adapters import MemoryMappedAdapter\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('cocotb', 'amaranth')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_words_have_their_fields_where_they_were_put(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    narrow = rng.integers(-4, 8, 20000)
    lists = rng.integers(-(2**8), 2**9, (20000, 3))
    wide = np.array([int(value) << 70 for value in rng.integers(0, 2**30, 20000)], object)
    path = tmp_path / "words.hex"
    write_words(path, [(narrow, 0, 3), (lists, 3, 27), (wide, 31, 100)], 131, 20000)
    lines = path.read_text().split()
    for row in (0, 8191, 8192, 19999):
        word = int(lines[row], 16)
        assert word & 7 == narrow[row] & 7
        assert [word >> (3 + 9 * index) & 511 for index in range(3)] == list(lists[row] & 511)
        assert word >> 31 == wide[row]
    assert {len(line) for line in lines} == {34}


def test_results_are_read_with_sign_and_what_is_unknown_or_missing(tmp_path: Path) -> None:
    path = tmp_path / "results.hex"
    path.write_text("1ff7\n0x07\n00ZX\n07")
    elements = [
        Element("one", 0, 4, True),
        Element("list", 0, 4, False),
        Element("list", 1, 5, True),
    ]
    results, count = read_words(path, elements, {"one": (4,), "list": (4, 2)})
    assert count == 3
    assert results["one"].tolist() == [7, 7, UNKNOWN, MISSING]
    assert results["list"].tolist() == [[15, -1], [0, UNKNOWN], [UNKNOWN, 0], [MISSING, MISSING]]
    nothing, count = read_words(tmp_path / "absent", elements, {"one": (2,), "list": (2, 2)})
    assert count == 0
    assert (nothing["list"] == MISSING).all()


def test_places_are_ports_or_bits_of_them() -> None:
    assert PortBits.parse("x", "data") == PortBits("data")
    assert PortBits.parse("x", "data[5]") == PortBits("data", 5, 5)
    assert PortBits.parse("x", " data[ 7:0 ]").within("x", 8) == (0, 8)
    assert str(PortBits("data", 7, 4)) == "data[7:4]"
    for wrong in ("data[0:7]", "1data", "data[a]", "data[-1]"):
        with pytest.raises(InputError, match="x: "):
            PortBits.parse("x", wrong)


@pytest.mark.parametrize("value", [255, -128])
def test_values_fit_with_or_without_a_sign(value: int) -> None:
    check_range("x", np.array([0, value]), 8)
    for beyond in (256, -129):
        with pytest.raises(InputError, match=f"x: is {beyond} in case 1, which 8 bits do not hold"):
            check_range("x", np.array([0, beyond]), 8)


COLUMNS = {
    "shift": np.array([-31, -1, 0, 7], np.int8),
    "acc": np.array([-(2**31), -5, 5, 2**31 - 1], np.int32),
    "list": np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.int8),
}


@pytest.mark.parametrize(
    "text",
    [
        "-shift",
        "max(-shift, 0)",
        "min(shift, 3, -2)",
        "abs(acc) * acc + shift",
        "acc // 3 - acc % 7",
        "acc << 40 | shift & 0xFF",
        "(acc >> 3) ^ ~shift",
        "acc if shift < 0 and acc != -5 else 31 - shift",
        "shift == 0 or not acc > 0",
        "0 < shift < 5",
        "1 << shift if shift > 0 else 0",
        "5",
    ],
)
def test_a_formula_is_what_python_computes(text: str) -> None:
    found = evaluate("x", text, COLUMNS)
    expected = [
        int(eval(text, {"shift": int(shift), "acc": int(acc)}))
        for shift, acc in zip(COLUMNS["shift"], COLUMNS["acc"], strict=True)
    ]
    assert found.tolist() == expected


def test_a_list_goes_with_the_number_of_its_case() -> None:
    found = evaluate("x", "list * 2 - shift", COLUMNS)
    assert found.tolist() == [[33, 35], [7, 9], [10, 12], [7, 9]]
    assert evaluate("x", "clip(list, 2, 6)", COLUMNS).tolist()[0] == [1 + 1, 2]


def test_a_function_of_the_columns_is_a_formula() -> None:
    assert evaluate("x", lambda columns: columns["shift"] * 2, COLUMNS).tolist() == [-62, -2, 0, 14]


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("shift / 2", "use // or >>"),
        ("__import__('os')", "no column '__import__'; .* and the functions min, max, abs, clip"),
        ("shift[0]", "TypeError: 'int' object is not subscriptable"),
        ("[s for s in shift]", "no column 's'"),
        ("'a'", "gives 'a'; integers are needed"),
        ("1.5", "gives 1.5; integers are needed"),
        ("shft", "no column 'shft'; there are shift, acc, list"),
        ("1 << shift", "1 << shift: ValueError: negative shift count"),
        ("acc // shift", "ZeroDivisionError"),
        ("abs(acc, 1)", "TypeError: abs.. takes exactly one argument"),
        ("shift +", "'shift \\+' is no formula"),
        (lambda columns: columns["shift"] * 0.5, "integers are needed"),
        (lambda columns: columns["shift"][:2], "has shape"),
        (1.5, "1.5 is no formula"),
    ],
)
def test_what_is_no_formula_is_refused(formula: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        evaluate("Mine.inputs['x']", formula, COLUMNS)  # pyright: ignore[reportArgumentType]
    assert str(caught.value).startswith("Mine.inputs['x']: ")


HERE = Path(streams.__file__).parent


def init(file: Path, *options: str) -> None:
    arguments = ["conform", "init", str(file), *options, "-o", str(file.parent)]
    commands(arguments, standalone_mode=False)


@needs_icarus
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
