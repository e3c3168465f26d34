"""TPU-MLIR's own int8 results beside golden's, form by form: ``python -m lab.tpu_mlir PYTHON``.

PYTHON is an interpreter, 3.10, that has PyPI's ``tpu_mlir``. Its compiler lowers float operators to
int8 for bm1684x, with multipliers and shifts of its own, and its interpreter runs them; golden is
given the same codes, multipliers and shifts. docs/other-specs.md has what came of it.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.files import npz_bytes
from eightfold.golden.quantization import Quantization
from eightfold.golden.rounding import rounding_shift
from eightfold.golden.tpu_mlir import elementwise, numbers, windows

IMAGE, PADDED = "tensor<1x4x8x8xf32>", "tensor<1x4x10x10xf32>"

WINDOW = "kernel_shape=[3,3], strides=[1,1], pads=[1,1,1,1], do_relu=false"

OPERATORS = {
    "LeakyRelu": f'"top.LeakyRelu"(%x0) {{alpha=0.1:f64}} : ({IMAGE}) -> {IMAGE}',
    "PRelu": f'"top.PRelu"(%x0,%w) : ({IMAGE},tensor<1x4x1x1xf32>) -> {IMAGE}',
    "Add": f'"top.Add"(%x0,%x1) {{do_relu=false}} : ({IMAGE},{IMAGE}) -> {IMAGE}',
    "AvgPool": f'"top.AvgPool"(%x0) {{{WINDOW}, count_include_pad=true}} : ({IMAGE}) -> {IMAGE}',
    "Pad": f'"top.Pad"(%x0,%n) {{paddings=[0,0,1,1,0,0,1,1], val=0.5:f64, mode="constant"}}'
    f" : ({IMAGE},none) -> {PADDED}",
    "Conv": f'"top.Conv"(%x0,%w,%b) {{{WINDOW}, group=1:i64, dilations=[1,1]}}'
    f" : ({IMAGE},tensor<4x4x3x3xf32>,tensor<4xf32>) -> {IMAGE}",
    "MatMul": '"top.MatMul"(%x0,%w,%b) {do_relu=false, right_transpose=false}'
    " : (tensor<4x64xf32>,tensor<64x4xf32>,tensor<4xf32>) -> tensor<4x4xf32>",
}
"""Float operators of images, of rows for MatMul."""

RUN = """
import sys, tpu_mlir, pymlir, numpy as np
pymlir.set_mem_mode("force_value_mem")
module = pymlir.module()
module.load(sys.argv[1])
rng = np.random.default_rng(0)
for name in module.input_names:
    shape = [int(size) for size in sys.argv[2].split("x")]
    module.set_tensor(name, rng.uniform(-2.3, 2.3, shape).astype(np.float32), shape)
module.invoke()
np.savez(sys.argv[3], **{name: module.get_tensor(name) for name in module.all_tensor_names})
"""

Arrays = Mapping[str, NDArray[Any]]


def lowered(python: Path, folder: Path, name: str, *, asymmetric: bool) -> tuple[str, Arrays]:
    """Return TPU-MLIR's int8 operator as text, and its weights and all codes of a run."""
    rng = np.random.default_rng(1)
    code = OPERATORS[name]
    operands, result = code.rpartition(" : ")[2].split(" -> ")
    shapes = re.findall(r"tensor<([0-9x]+)xf32>", operands)
    weights = [re.search(rf"%{each}\b", code) for each in "wb"]
    given = {
        each: rng.normal(0, 0.2, [int(size) for size in shape.split("x")]).astype(np.float32)
        for each, shape in zip("wb", shapes[1:], strict=False)
        if weights["wb".index(each)]
    }
    kind = f"tensor<{shapes[0]}xf32>"
    inputs = [f"%x{i}" for i in range(2) if f"%x{i}" in code]
    lines = [
        *(f'{x} = "top.Input"(%a{x[2]}) : ({kind}) -> {kind} loc("{x[1:]}")' for x in inputs),
        *(
            f'%{w} = "top.Weight"() : () -> tensor<{"x".join(map(str, a.shape))}xf32> loc("{w}")'
            for w, a in given.items()
        ),
        '%n = "top.None"() : () -> none',
        f'%y = {code} loc("y")',
        f"return %y : {result}",
    ]
    arguments = ", ".join(f"%a{x[2]}: {kind}" for x in inputs)
    module = 'module @n attributes {module.chip="ALL", module.platform="ONNX", '
    module += 'module.state="TOP_F32", module.top_run_mode="STATIC", module.weight_file="w.npz"}'
    body = "\n".join(lines)
    (folder / "n.mlir").write_text(
        f"{module} {{\nfunc.func @main({arguments}) -> {result} {{\n{body}\n}}\n}}\n"
    )
    (folder / "w.npz").write_bytes(npz_bytes(given))
    table = "x0 2 -2 2\nx1 1.3 -1.3 1.3\ny 2 -2 2\n"
    (folder / "table").write_text(f"# op_name threshold min max\n{table}")
    root = next(python.parent.parent.glob("lib/python3*/site-packages/tpu_mlir"))
    passes = (
        "--init",
        "--processor-assign=chip=bm1684x mode=INT8 num_device=1 num_core=1 addr_mode=auto",
        f"--import-calibration-table=file=table asymmetric={asymmetric}",
        "--processor-top-optimize",
        f"--convert-top-to-tpu=weightFileName=i.npz asymmetric={asymmetric}",
        *("--canonicalize", "--weight-fold", "-o", "i.mlir"),
    )
    # The package has a C library of its own, which does not go with another system's loader.
    system = Path("/lib/x86_64-linux-gnu")
    own = {"LD_LIBRARY_PATH": f"{system}:/usr{system}:{root}/lib:{root}/lib/third_party"}
    own |= {"TPUC_ROOT": str(root), "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
    own["LD_PRELOAD"] = " ".join(str(system / f"lib{each}.so.6") for each in ("c", "m"))
    options: Any = {"cwd": folder, "check": True, "capture_output": True, "text": True}
    subprocess.run([str(root / "bin/tpuc-opt"), "n.mlir", *passes], env=own, **options)
    (folder / "run.py").write_text(RUN)
    subprocess.run([str(python), "run.py", "i.mlir", shapes[0], "o.npz"], **options)
    files = (folder / each for each in ("i.npz", "o.npz"))  # without weights there is no i.npz
    arrays = {k: v for file in files if file.is_file() for k, v in np.load(file).items()}
    text = (folder / "i.mlir").read_text()
    kinds = "LeakyRelu|PReluOp|Add|Pool2D|Pad|Conv2D|MatMul"
    (line,) = (each for each in text.splitlines() if re.search(rf'"tpu\.({kinds})"', each))
    return line, arrays


def expected(name: str, line: str, arrays: Arrays) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield what golden makes of the same codes, by how it is asked."""
    types = [
        (float(s), int(z or 0)) for s, z in re.findall(r"i8:f32, ([0-9.e-]+)(?::(-?\d+))?>", line)
    ]
    found = re.findall(r"(multipliers?|rshifts?|scale|offset) = \[?([-+0-9., e]+)\]?", line)
    numbers_ = {key: [float(each) for each in text.split(",")] for key, text in found}
    x, *others = (
        codes(arrays[each], *pair)
        for each, pair in zip(sorted(k for k in arrays if "y_si8" in k), types, strict=False)
    )
    (_, z_x), (s_y, z_y) = types[0], types[-1]
    m, r = (
        np.array([int(each) for key in keys for each in numbers_.get(key, ())])
        for keys in (("multiplier", "multipliers"), ("rshift", "rshifts"))
    )
    output = Quantization(np.array([s_y]), np.array([z_y]))
    for mode in ("half_up", "half_away"):
        if name == "LeakyRelu":
            options: Any = {"multiplier": int(m[0]), "rshift": int(r[0]), "rounding": mode}
            yield mode, elementwise.leaky_relu(x, **options)
        elif name == "PRelu":
            alpha = arrays["y_slope_i8"]
            yield mode, elementwise.prelu(x, alpha, multiplier=1, rshift=int(r[0]), rounding=mode)
        elif name in ("Conv", "MatMul"):
            weights = arrays["y_filter_i8" if name == "Conv" else "y_filter_int8"]
            fields = numbers.requantizer(m, r, rounding=mode, zero_point=z_y)
            bias = arrays["y_bias_int32"]
            if name == "Conv":
                shape, pads = weights.reshape(4, 4, 3, 3), ((1, 1), (1, 1))
                yield (
                    mode,
                    windows.convolution(x, shape, bias, fields, input_zero_point=z_x, pads=pads),
                )
            else:
                yield mode, windows.inner_product(x, weights.reshape(64, 4).T, bias, fields)
        elif name == "Add":
            parts = zip((x, *others), m, r, types, strict=False)
            sums = sum(
                rounding_shift((q.astype(int) - z) * f, s, mode) for q, f, s, (_, z) in parts
            )
            yield f"each product shifted, {mode}", np.clip(sums + z_y, -128, 127)
        elif name == "AvgPool":
            pool: Any = {"kernel": (3, 3), "pads": ((1, 1), (1, 1)), "rounding": mode}
            pool["input_zero_point"] = z_x
            scale = numbers_["scale"][0] if "scale" in numbers_ else m[0] / 2.0 ** r[0]
            offset = numbers_.get("offset", [0.0])[0]
            yield mode, windows.avg_pool(x, scale=scale, offset=offset, **pool)
        elif mode == "half_away":
            sides = [[0, 0], [0, 0], [1, 1], [1, 1]]
            options = {"input_zero_point": z_x, "output_quantization": output}
            yield mode, elementwise.pad(x, sides, 0.5, **options)


def codes(real: NDArray[Any], scale: float, zero_point: int) -> NDArray[np.int8]:
    """Return the codes of what TPU-MLIR's interpreter tells as real numbers."""
    return (np.rint(real / scale) + zero_point).astype(np.int8)


def main() -> None:
    """Print for each form and way how many codes are not golden's."""
    python = Path(sys.argv[1]).absolute()
    for name in OPERATORS:
        for asymmetric in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                line, arrays = lowered(python, Path(folder), name, asymmetric=asymmetric)
            kind = f"{name}, {'asymmetric' if asymmetric else 'symmetric'}"
            if "i8:f32" not in line.rpartition("->")[2]:
                print(f"{kind}: TPU-MLIR computes it in float16")
                continue
            pair = re.findall(r"i8:f32, ([0-9.e-]+)(?::(-?\d+))?>", line)[-1]
            theirs = codes(arrays["y"], float(pair[0]), int(pair[1] or 0))
            for how, ours in expected(name, line, arrays):
                wrong = int(np.sum(ours != theirs))
                print(f"{kind}, {how}: {wrong} of {theirs.size} codes are not golden's")


if __name__ == "__main__":
    main()
