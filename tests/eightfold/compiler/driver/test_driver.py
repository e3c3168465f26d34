"""The driver in C: strict compilers, nothing of a library, each result by its name; and the RTL."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from eightfold.compiler import compile_network
from eightfold.compiler.artifacts import write_compiled, write_driver
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_int8, run_graphs
from eightfold.sim.simulator.cache import cached, content_key
from eightfold.sim.simulator.sources import Unit
from eightfold.sim.simulator.toolchain import check_simulator, simulator_version, tool_environment
from eightfold.target.config import PRESETS
from examples.digits import images
from examples.digits.network import MODEL_FILE, TEST_FILE
from tests.support.command import Call
from tests.support.golden_c.library import compiler
from tests.support.models.networks import streaming

HERE = Path(__file__).parent
LIBRARIES = ("libVeightfold.a", "libverilated.a")
RESULT = re.compile(r"(digits|wake) -?\d")
"""A line of codes."""

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
MODELS = {"digits": MODEL_FILE.read_bytes(), "wake": streaming()}


def odd() -> bytes:
    """Return a model with names that C would read, a scalar, and an output of uint8."""
    builder = ModelBuilder()
    x = builder.input((3,), name='"a"\\ ??/ */ é', scale=0.5, zero_point=-128)
    y = builder.tensor((3,), dtype=np.uint8, scale=0.25, zero_point=255)
    builder.operator("QUANTIZE", [x], [y])
    builder.output(y)
    return builder.build()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    write_driver(folder)
    for name, model in (MODELS | {"odd": odd()}).items():
        graph = load_int8(model)
        (compiled,) = compile_network(graph, PRESETS["nano"]).streams
        write_compiled(graph, {folder / name: compiled}, name)
    return folder


def shell(folder: Path, *command: str | Path, **variables: str) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | variables
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-Os", "-O3"])
def test_it_compiles_without_warnings_or_a_library(name: str, level: str, written: Path) -> None:
    options = [compiler(name), *STRICT, level, "-ffreestanding", "-fno-builtin", "-I."]
    objects = []
    for source in ("eightfold.c", *(f"{each}/layout.c" for each in (*MODELS, "odd"))):
        objects.append(f"{source.replace('/', '-')}.o")
        shell(written, *options, "-c", source, "-o", objects[-1])
    shell(written, compiler(name), "-r", "-nostdlib", *objects, "-o", "all.o")
    undefined = shell(written, "nm", "-u", "all.o").split()
    assert [each for each in undefined if each not in ("U", "_GLOBAL_OFFSET_TABLE_")] == []


def test_it_compiles_as_cpp(written: Path) -> None:
    (written / "twice.cpp").write_text('#include "wake/layout.h"\n#include "digits/layout.h"\n')
    strict = ["-std=c++11", *STRICT[1:]]
    shell(written, compiler("g++"), *strict, "-I.", "-fsyntax-only", "twice.cpp")


TABLE = r"""
#include <stdio.h>
#include "odd/layout.h"
int main(void)
{
    const struct eightfold_tensor *x = &odd.inputs[0], *y = &odd.outputs[0];
    printf("%s|%d %d|%u %u|%g %d|%g %d|%u %u %u|%s %s", x->name, x->type == EIGHTFOLD_INT8,
           y->type == EIGHTFOLD_UINT8, (unsigned)x->rank, (unsigned)x->shape[0],
           (double)x->scales[0], (int)x->zero_points[0], (double)y->scales[0],
           (int)y->zero_points[0], (unsigned)x->elements, (unsigned)y->bytes,
           (unsigned)y->scale_count, eightfold_name(EIGHTFOLD_ERROR_AXI_READ), eightfold_name(9));
    return 0;
}
"""


def test_the_tables_say_what_the_tensors_are(written: Path) -> None:
    (written / "table.c").write_text(TABLE)
    sources = ["table.c", "eightfold.c", "odd/layout.c"]
    shell(written, compiler("gcc"), *STRICT, *SANITIZERS, "-I.", *sources, "-o", "table")
    expected = '"a"\\ ??/ */ é|1 1|1 3|0.5 -128|0.25 255|3 3 1|AXI_READ UNKNOWN'
    assert shell(written, "./table") == expected


def story(name: str, written: Path) -> str:
    """Return what the scenarios print on a model of the registers in C, which computes nothing."""
    zeros = ", ".join(["{0}"] * 3)
    arrays = (("images", 64), ("frames", 8))
    lines = [f"static const signed char {name}[3][{size}] = {{{zeros}}};" for name, size in arrays]
    (written / "inputs.h").write_text("\n".join([*lines, ""]))
    sources = ["eightfold.c", "digits/layout.c", "wake/layout.c"]
    sources += [str(HERE / f"{name}.c") for name in ("registers", "scenarios")]
    # Addresses of 32 bits: the registers have no more.
    program = [*SANITIZERS, "-fno-pie", "-no-pie", "-I.", "-o", "scenarios"]
    shell(written, compiler(name), *STRICT, *program, *sources)
    lines = shell(written, "./scenarios").splitlines()
    return "; ".join(line for line in lines if not RESULT.match(line))


STORY = """
init OK; misaligned MISALIGNED; far UNREACHABLE; end UNREACHABLE; zero BAD_NETWORK
version OTHER_VERSION; sizes OTHER_CONFIGURATION; short BAD_NETWORK; load OK; idle IDLE; load OK
digits OK; poll OK; cache 1; cycles 1; wake OK; digits OK; wake OK; clear OK; wake OK
digits OK; interrupts 1 0
start OK; again BUSY; poll BUSY; wait OK
read OK; wake OK; read AXI_READ; code 4; digits OK
write OK; write AXI_WRITE; lost STATE_LOST; clear OK; wake OK; wake OK
start OK; reset OK; reset ENDED; digits OK
start OK; pin ENDED; digits OK
start OK; patience EXPIRED; digits OK
start OK; hang STUCK; code 6; stuck STUCK; clear STUCK; reset OK; digits OK
"""


def told() -> str:
    return STORY.strip().replace("\n", "; ")


@pytest.mark.parametrize("name", ["gcc", "clang"])
@pytest.mark.slow
def test_it_tells_every_end_of_a_run_by_name(name: str, written: Path) -> None:
    assert story(name, written) == told()


def _array(name: str, codes: np.ndarray) -> str:
    rows = ",\n".join("{" + ", ".join(map(str, row)) + "}" for row in codes.tolist())
    return f"static const signed char {name}[{len(codes)}][{codes.shape[1]}] = {{\n{rows}\n}};\n"


def model(accelerator: str) -> Path:
    """Return the folder of Verilator's libraries of an accelerator in Verilog."""
    variables = tool_environment()

    def make(folder: Path) -> None:
        (folder / "accelerator.v").write_text(accelerator, encoding="utf-8")
        program = Path(variables["VERILATOR_ROOT"]) / "bin" / "verilator"
        options = ["--cc", "-O3", "-Wno-fatal", "-Wno-lint", "--prefix", "Veightfold"]
        options += ["--top-module", "eightfold_accelerator", "--Mdir", "."]
        shell(folder, program, *options, "accelerator.v", **variables)
        shell(folder, "make", "-f", "Veightfold.mk", *LIBRARIES, **variables)

    return cached("driver", content_key(accelerator, simulator_version("verilator")), make)


@pytest.fixture(scope="module")
def outputs(written: Path) -> dict[str, list[np.ndarray]]:
    """Write inputs for the scenarios; return the outputs of golden."""
    batches = {
        "digits": images.load(TEST_FILE)[0][2:5].reshape(3, 1, 8, 8, 1),
        "wake": np.random.default_rng(5).integers(-128, 128, (2, 1, 2, 4), np.int8),
    }
    arrays = {"images": batches["digits"].reshape(3, -1), "frames": batches["wake"].reshape(2, -1)}
    (written / "rtl").mkdir(exist_ok=True)
    (written / "rtl" / "inputs.h").write_text("".join(map(_array, arrays, arrays.values())))
    found = {}
    for name, batch in batches.items():
        graph = load_int8(MODELS[name])
        values = run_graphs(graph, [{graph.inputs[0]: codes} for codes in batch])
        found[name] = [each[graph.outputs[0]].ravel() for each in values]
    return found


SHOWN = {"digits": [0, 1, 2, 0, 1, 0, 1, 2, 0], "wake": [0, 1, 0, 1, 0, 1]}
"""Which inputs' outputs the scenarios print, in order."""


@pytest.mark.long  # the scenarios run on a model of the registers above
def test_the_rtl_under_the_driver_equals_golden(
    written: Path, outputs: dict[str, list[np.ndarray]]
) -> None:
    check_simulator("verilator")
    folder = model(Unit("accelerator", PRESETS["nano"]).file().read_text("utf-8"))
    include = Path(tool_environment()["VERILATOR_ROOT"]) / "include"
    program = [*SANITIZERS, "-fno-pie", "-Irtl", "-I."]
    sources = ["eightfold.c", "digits/layout.c", "wake/layout.c", str(HERE / "scenarios.c")]
    objects = [f"rtl/{number}.o" for number in range(len(sources))]
    for source, target in zip(sources, objects, strict=True):
        shell(written, compiler("gcc"), *STRICT, *program, "-c", source, "-o", target)
    headers = [f"-I{folder}", f"-I{include}", f"-I{include / 'vltstd'}"]
    libraries = [str(folder / name) for name in LIBRARIES]
    command = [compiler("g++"), *program, "-no-pie", "-std=c++17", *headers, "bench.cpp", *objects]
    shell(written, *command, *libraries, "-pthread", "-o", "rtl/scenarios")
    lines = shell(written, "rtl/scenarios").splitlines()
    assert "; ".join(line for line in lines if not RESULT.match(line)) == told()
    for name, numbers in SHOWN.items():
        shown = [line.split()[1:] for line in lines if line.startswith(name) and RESULT.match(line)]
        expected = np.array([outputs[name][number] for number in numbers])
        np.testing.assert_array_equal(np.array(shown, int), expected)


def test_the_commands_write_it(tmp_path: Path, call: Call) -> None:
    status, out, _ = call("driver", "-o", tmp_path / "driver")
    assert (status, len(out.split())) == (0, 6)
    assert all(Path(each).is_file() for each in out.split())
    command = ("compile", MODEL_FILE, "-o", tmp_path / "net", "--c-array")
    for name in ("a b", "int", "class", "uint8_t", "state", "output_0_shape", "eightfold_run"):
        status, _, err = call(*command, name)
        assert (status, f"'{name}' is no name in C" in err) == (2, True)
    assert not (tmp_path / "net").exists()
    assert call(*command, "net")[0] == 0
    assert "network net = {" in (tmp_path / "net" / "layout.c").read_text()
