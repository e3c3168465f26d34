"""A compiled network as files: what a host loads, and what a person reads."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from eightfold.common.files import Content, write_files
from eightfold.compiler import Compiled, compile_network
from eightfold.isa import Space
from eightfold.isa.decode import listing
from eightfold.isa.headers import PREFIX, c_header
from eightfold.model import Graph, Operator, Tensor
from eightfold.model.builder import ModelBuilder
from eightfold.operators import host_operators, load_int8, run_graphs
from eightfold.target.config import AcceleratorConfig

STATE_FILE = "state.bin"

FILES = (
    *("commands.bin", "model.bin", "listing.txt", "layout.json", "network.h", STATE_FILE),
    *("layout.h", "layout.c"),
)
"""What is written of a network, the last three if it has state, or if they are asked for."""

DRIVER = Path(__file__).parent / "driver"
"""The driver in C, and a bench that runs it on the Verilog."""

SOURCES = ("eightfold.h", "eightfold.c", "eightfold_convert.h", "bench.h", "bench.cpp")
"""Files that are written as they are."""

_CACHE_LINE = 64
"""EIGHTFOLD_ALIGNMENT: arenas are whole lines, so that no neighbour is invalidated with them."""


def driver_files() -> dict[str, Content]:
    """Return the driver's files by their names."""
    files: dict[str, Content] = {name: (DRIVER / name).read_text("utf-8") for name in SOURCES}
    return files | {"eightfold_isa.h": c_header()}


def write_driver(folder: Path) -> list[Path]:
    """Write the driver in C, and return the paths; raises InputError if that cannot be."""
    contents = {folder / name: text for name, text in driver_files().items()}
    write_files(contents)
    return list(contents)


def check_files(config: AcceleratorConfig) -> dict[str, Content]:
    """Return a program for the driver's bench: a small network, and what golden computes of it.

    It returns 1 and says which byte differs, or what the driver has said, unless all is equal.
    """
    rng = np.random.default_rng(8)
    builder = ModelBuilder()
    x = builder.input((1, 24), scale=0.5, zero_point=-3)
    weights = builder.constant(rng.integers(-127, 128, (10, 24), np.int8), scale=0.25)
    bias = builder.constant(rng.integers(-4000, 4000, 10, np.int32), scale=0.125)
    y = builder.tensor((1, 10), scale=31.0, zero_point=5)
    z = builder.tensor((1, 10), scale=53.0, zero_point=-8)
    builder.operator("FULLY_CONNECTED", [x, weights, bias], [y])
    builder.operator("ADD", [y, y], [z])
    builder.output(z)
    graph = load_int8(builder.build())
    (compiled,) = compile_network(graph, config).streams
    codes = rng.integers(-128, 128, (3, 1, 24), np.int8)
    results = run_graphs(graph, [{graph.inputs[0]: each} for each in codes])
    expected = np.stack([each[graph.outputs[0]] for each in results])
    layout = _layout(graph, compiled)
    arrays = "".join(
        f"static const int8_t {name}[3][{array[0].size}] = {{"
        + ", ".join("{" + ", ".join(map(str, row.ravel().tolist())) + "}" for row in array)
        + "};\n"
        for name, array in (("inputs", codes), ("outputs", expected))
    )
    return {
        "check.h": '#include "layout.h"\n\n' + arrays,
        "check.c": (DRIVER / "check.c").read_text("utf-8"),
        "network.h": _header(layout),
        **_c_arrays("network", layout, compiled.words, compiled.model, b""),
    }


def write_compiled(
    graph: Graph, streams: Mapping[Path, Compiled], c_array: str | None = None
) -> list[Path]:
    """Write the files of each stream, and return their paths.

    They are commands.bin, model.bin, listing.txt, layout.json, and network.h for a host in C; and
    state.bin, what the arena has of variables before the first run, if there are any.

    The files are written all or none: commands of one network beside the weights of another would
    compute something. ``streams`` are by their folders; with ``c_array`` layout.h and layout.c are
    written too, constants of the driver in C of this name. Raises InputError if a file cannot be
    written.
    """
    contents: dict[Path, Content] = {}
    elsewhere = outputs_elsewhere(graph, streams.values())
    for folder, compiled in streams.items():
        layout, state = _layout(graph, compiled) | {"elsewhere": elsewhere}, b""
        if compiled.state:
            state = contents[folder / STATE_FILE] = _initial_state(graph, compiled)
        contents |= {
            folder / "commands.bin": compiled.words.astype("<u4").tobytes(),
            folder / "model.bin": compiled.model,
            folder / "listing.txt": _listing(graph, compiled),
            folder / "layout.json": json.dumps(layout, indent=1) + "\n",
            folder / "network.h": _header(layout),
        }
        if c_array:
            arrays = _c_arrays(c_array, layout, compiled.words, compiled.model, state)
            contents |= {folder / name: text for name, text in arrays.items()}
    write_files(contents)
    return list(contents)


def compiled_files(folder: Path) -> set[Path]:
    """Return the files of a network that was compiled into a folder, or its folders of streams."""
    folders = [folder, *(each for each in folder.glob("stream_*") if each.name[7:].isdecimal())]
    compiled = (each for each in folders if (each / FILES[0]).is_file())
    return {path for each in compiled for path in files_in(each) if path.is_file()}


def files_in(folder: Path) -> list[Path]:
    """Return the files that compiling writes into a folder."""
    return [folder / name for name in FILES]


def outputs_elsewhere(graph: Graph, streams: Collection[Compiled]) -> list[dict[str, Any]]:
    """Return the model's outputs that no stream computes, each with words where it comes ``from``.

    One that the host makes of what a stream computes is not among them.
    """
    computed = {tensor for stream in streams for tensor in stream.outputs}
    host = host_operators(graph)
    edges = (operator for operator in graph.operators if operator.index in host)
    computed |= {edge.outputs[0] for edge in edges if edge.inputs[0] in computed}
    makers = {tensor: operator for operator in graph.operators for tensor in operator.outputs}
    found = []
    for index in (each for each in graph.outputs if each not in computed):
        tensor, maker = graph.tensors[index], makers.get(index)
        if maker is None:
            origin = "given, not computed" if tensor.data is None else "a constant"
        elif maker.index in host:
            origin = f"{maker} of {graph.tensors[maker.inputs[0]]}, on the host"
        else:
            origin = f"{maker}, in golden"
        found.append(_entry(tensor) | {"from": origin})
    return found


def _state_bytes(graph: Graph, compiled: Compiled) -> tuple[int, int]:
    """Return the first byte of the arena that holds variables, and the one behind the last."""
    places = [(compiled.inputs[tensor], graph.tensors[tensor].nbytes) for tensor in compiled.state]
    return min(place for place, _ in places), max(place + size for place, size in places)


def _initial_state(graph: Graph, compiled: Compiled) -> bytes:
    """Return what the bytes of variables are before the first run."""
    start, stop = _state_bytes(graph, compiled)
    content = np.zeros(stop - start, np.uint8)
    initial = graph.initial_state()
    for tensor in compiled.state:
        value = np.frombuffer(initial[tensor].tobytes(), np.uint8)
        content[compiled.inputs[tensor] - start :][: value.size] = value
    return content.tobytes()


def region_bytes(streams: Iterable[Compiled]) -> dict[str, int]:
    """Return the bytes that a network needs, by what they are for.

    Of several streams commands and models add up; they use arena and scratchpad one after the
    other. The scratchpad's are those up to the last one in use.
    """
    streams = list(streams)
    ends = [p.offset + p.size for s in streams for p in s.placements if p.space is Space.SCRATCHPAD]
    return {
        "commands": sum(s.words.nbytes for s in streams),
        "model": sum(len(s.model) for s in streams),
        "arena": max((s.arena for s in streams), default=0),
        "scratchpad": max(ends, default=0),
    }


def _listing(graph: Graph, compiled: Compiled) -> str:
    """Return a line per command, under a heading for each operator."""
    lines = []
    before = None
    for issued, line in zip(compiled.issued, listing(compiled.words), strict=True):
        if issued.operator != before:
            lines.append(f"# {graph.operator(issued.operator)}")
            before = issued.operator
        lines.append(line)
    return "\n".join(lines) + "\n"


def _layout(graph: Graph, compiled: Compiled) -> dict[str, Any]:
    """Return regions, where a stream's inputs and outputs lie, and what the host does to them.

    Those of the model, whether converted or not, come first and in its order. Values of variables
    that stay in the arena are the state, and neither.
    """
    host = [op for op in graph.operators if op.index in host_operators(graph)]
    before = {operator.outputs[0]: [operator] for operator in host if operator.name == "QUANTIZE"}
    after: dict[int, list[Operator]] = {}
    for operator in host:
        if operator.name == "DEQUANTIZE":
            after.setdefault(operator.inputs[0], []).append(operator)

    def placed(
        tensors: Mapping[int, int], converted: Mapping[int, list[Operator]], ends: Sequence[int]
    ) -> list[dict]:
        sides = [(*operator.inputs, *operator.outputs) for operator in host]
        order = [t for end in ends for side in [(end,), *sides] if end in side for t in side]
        return [
            _entry(graph.tensors[tensor])
            | {"offset": tensors[tensor]}
            | {"host": [_conversion(graph, operator) for operator in converted.get(tensor, [])]}
            for tensor in sorted(tensors, key=lambda tensor: [*order, tensor].index(tensor))
            if tensor not in kept
        ]

    kept = {*compiled.state, *compiled.state.values()} - {*graph.outputs}
    state = None
    if compiled.state:
        start, stop = _state_bytes(graph, compiled)
        entries = [
            _entry(graph.tensors[old]) | {"offset": compiled.inputs[old]} for old in compiled.state
        ]
        state = {"offset": start, "bytes": stop - start, "file": STATE_FILE, "variables": entries}
    return {
        "config": compiled.config.as_dict(),
        "command_bytes": 4 * len(compiled.words),
        "model_bytes": len(compiled.model),
        "arena_bytes": compiled.arena,
        "inputs": placed(compiled.inputs, before, graph.inputs),
        "outputs": placed(compiled.outputs, after, graph.outputs),
        "state": state,
        "operators": list(compiled.operators),
    }


def _entry(tensor: Tensor) -> dict[str, Any]:
    """Return what a host has to know of a tensor, without its place; None: it has no scale.

    A scale that is no positive number, with which nothing is computed, is none.
    """
    quantization = q if (q := tensor.quantization) and q.is_sound else None
    return {
        "tensor": tensor.index,
        "name": tensor.name,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype.name,
        "scale": None if quantization is None else list(map(float, quantization.scale)),
        "zero_point": None if quantization is None else quantization.zero_point.tolist(),
    }


def _conversion(graph: Graph, operator: Operator) -> dict[str, Any]:
    """Return an operator of the host, and the model's tensor of float32 at its other side."""
    outer = operator.inputs[0] if operator.name == "QUANTIZE" else operator.outputs[0]
    tensor = graph.tensors[outer]
    return {
        "operator": operator.index,
        "conversion": operator.name,
        "tensor": outer,
        "name": tensor.name,
        "dtype": tensor.dtype.name,
    }


def _header(layout: Mapping[str, Any]) -> str:
    """Return ``network.h``: the layout for a host in C99 or C++, and what converts its tensors.

    It stands alone; a source file includes that of one network. ``EIGHTFOLD_INPUT_<n>_OFFSET`` and
    the like say of each input and output where it lies in the arena, and what it is;
    ``eightfold_quantize_input_<n>(values, arena)`` and
    ``eightfold_dequantize_output_<n>(arena, values)`` do what the host has to.
    """
    lines = [
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        *(
            f"#define EIGHTFOLD_{name.upper()} {layout[name]}u"
            for name in ("command_bytes", "model_bytes", "arena_bytes")
        ),
    ]
    if state := layout["state"]:
        lines += [
            "",
            f"/* The arena keeps these bytes from run to run. {STATE_FILE} is what they are before",
            " * the first one, and after a reset. */",
            f"#define EIGHTFOLD_STATE_OFFSET {state['offset']}u",
            f"#define EIGHTFOLD_STATE_BYTES {state['bytes']}u",
            "",
        ]
    functions = []
    for side in ("input", "output"):
        lines.append(f"#define EIGHTFOLD_{side.upper()}S {len(layout[f'{side}s'])}u")
        for number, entry in enumerate(layout[f"{side}s"]):
            lines += _tensor_macros(f"EIGHTFOLD_{side.upper()}_{number}", side, number, entry)
            if entry["host"]:
                functions += _function(side, number, entry)
    lines += ["", *_conversions().splitlines(), *functions] if functions else []
    title = "A compiled network: its regions, inputs and outputs. By eightfold compile."
    return _guarded(title, f"{PREFIX}_NETWORK_H", lines)


def _guarded(title: str, guard: str, lines: Iterable[str]) -> str:
    """Return a header of C that can be included twice."""
    head = f"/* {title} */", f"#ifndef {guard}", f"#define {guard}"
    return "\n".join([*head, "", *lines, "", f"#endif /* {guard} */"]) + "\n"


def _tensor_macros(prefix: str, side: str, number: int, entry: Mapping[str, Any]) -> list[str]:
    """Return a comment and the macros of one tensor; a scale only where there is one for all."""
    shape, dtype = entry["shape"], np.dtype(entry["dtype"])
    names = [
        f"{each['conversion']}, float32 tensor {each['tensor']} {_quoted(each)}"
        for each in entry["host"]
    ]
    text = f"{side.capitalize()} {number}: tensor {entry['tensor']} {_quoted(entry)}, {dtype}"
    lines = ["", f"/* {text}{''.join(f'; host: {name}' for name in names)} */"]
    macros = {
        "OFFSET": f"{entry['offset']}u",
        "ELEMENTS": f"{prod(shape)}u",
        "BYTES": f"{prod(shape) * dtype.itemsize}u",
        "RANK": f"{len(shape)}",
        **({"SHAPE": f"{{{', '.join(map(str, shape))}}}"} if shape else {}),
    }
    if entry["scale"] is not None and len(entry["scale"]) == 1:
        macros["SCALE"] = f"{entry['scale'][0]:.9e}f"
        macros["ZERO_POINT"] = str(entry["zero_point"][0])
    return lines + [f"#define {prefix}_{name} {value}" for name, value in macros.items()]


def _quoted(entry: Mapping[str, Any]) -> str:
    """Return a tensor's name for a comment in C."""
    return ascii(entry["name"]).replace("*", "_").replace("?", "_")


def _function(side: str, number: int, entry: Mapping[str, Any]) -> list[str]:
    prefix = f"EIGHTFOLD_{side.upper()}_{number}"
    codes = np.iinfo(entry["dtype"])
    values = f"{prefix}_ELEMENTS,\n        {prefix}_SCALE, {prefix}_ZERO_POINT, {codes.min}"
    if side == "input":
        head = f"size_t eightfold_quantize_input_{number}(const float *values, uint8_t *arena)"
        call = f"return eightfold_quantize(values, {values}, {codes.max}, arena + {prefix}_OFFSET)"
    else:
        head = f"void eightfold_dequantize_output_{number}(const uint8_t *arena, float *values)"
        call = f"eightfold_dequantize(arena + {prefix}_OFFSET, {values}, values)"
    return ["", f"static inline {head}", "{", f"    {call};", "}"]


def _conversions() -> str:
    """Return the functions of eightfold_convert.h, which headers of networks have too."""
    whole = (DRIVER / "eightfold_convert.h").read_text("utf-8")
    end = "#endif /* EIGHTFOLD_CONVERSIONS */\n"
    return whole[whole.index("#ifndef EIGHTFOLD_CONVERSIONS") : whole.index(end)] + end


def _c_arrays(
    name: str, layout: Mapping[str, Any], words: np.ndarray, model: bytes, state: bytes
) -> dict[str, Content]:
    """Return ``layout.h`` and ``layout.c``: a network as constants of the driver.

    ``<name>``, an identifier of C, is the ``struct eightfold_network``, ``<name>_arena`` memory for
    one instance. ``layout`` is as in ``layout.json``, the others are contents of commands.bin,
    model.bin and state.bin.
    """
    title = "A compiled network for the driver. By eightfold compile --c-array."
    arena = max(-(-layout["arena_bytes"] // _CACHE_LINE), 1) * _CACHE_LINE
    header = [
        '#include "eightfold.h"',
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"extern const struct eightfold_network {name};",
        f"extern uint8_t {name}_arena[{arena}];",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
    ]
    source = [
        f"/* {title} */",
        '#include "layout.h"',
        '#include "network.h"',
        "",
        f"uint8_t {name}_arena[{arena}] {PREFIX}_ALIGNED;",
        *_array("uint32_t", "commands", [f"0x{word:08X}u" for word in words.tolist()]),
        *_array("uint8_t", "model", list(map(str, model))),
        *(_array("uint8_t", "state", list(map(str, state))) if state else []),
        *_tensors("input", layout["inputs"]),
        *_tensors("output", layout["outputs"]),
        "",
        f"const struct eightfold_network {name} = {{",
        f"    .commands = commands, .model = model, .state = {'state' if state else '0'},",
        f"    .command_bytes = {PREFIX}_COMMAND_BYTES, .model_bytes = {PREFIX}_MODEL_BYTES,",
        f"    .arena_bytes = {PREFIX}_ARENA_BYTES,",
        *(
            f"    .state_{word} = {f'{PREFIX}_STATE_{word.upper()}' if state else 0},"
            for word in ("offset", "bytes")
        ),
        *(
            f"    .{side}_count = {PREFIX}_{side.upper()}S, .{side}s = {side}s,"
            for side in ("input", "output")
        ),
        "};",
    ]
    return {
        "layout.h": _guarded(title, f"{PREFIX}_{name.upper()}_LAYOUT_H", header),
        "layout.c": "\n".join(source) + "\n",
    }


def _array(kind: str, name: str, values: list[str], aligned: bool = True) -> Iterator[str]:
    """Yield a constant array; one that the accelerator reads has whole cache lines, one or more."""
    if aligned:
        line = _CACHE_LINE // (4 if kind == "uint32_t" else 1)
        values = values + ["0"] * (-len(values) % line or (0 if values else line))
    suffix = f" {PREFIX}_ALIGNED" if aligned else ""
    yield from ("", f"static const {kind} {name}[{len(values)}]{suffix} = {{")
    for start in range(0, len(values), 8):
        yield f"    {', '.join(values[start : start + 8])},"
    yield "};"


def _tensors(side: str, entries: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of a network's inputs or outputs, with the arrays that it points to."""
    rows = []
    for number, entry in enumerate(entries):
        own, macro = f"{side}_{number}", f"{PREFIX}_{side.upper()}_{number}"
        scales = entry["scale"] or []
        arrays = {
            "shape": ("uint32_t", [f"{size}u" for size in entry["shape"]]),
            "scales": ("float", [f"{scale:.9e}f" for scale in scales]),
            "zero_points": ("int32_t", [str(zero) for zero in entry["zero_point"] or []]),
        }
        for name, (kind, values) in arrays.items():
            if values:
                yield from _array(kind, f"{own}_{name}", values, aligned=False)
        pointers = ", ".join(
            f".{name} = {f'{own}_{name}' if values else 0}" for name, (_, values) in arrays.items()
        )
        rows += [
            f"    {{.name = {_string(entry['name'])}, .type = {PREFIX}_{entry['dtype'].upper()},",
            f"     .offset = {macro}_OFFSET, .bytes = {macro}_BYTES,",
            f"     .elements = {macro}_ELEMENTS, .rank = {macro}_RANK,",
            f"     .scale_count = {len(scales)}, {pointers}}},",
        ]
    yield from ("", f"static const struct eightfold_tensor {side}s[{max(len(entries), 1)}] = {{")
    yield from rows or ["    {.name = 0},"]
    yield "};"


def _string(text: str) -> str:
    """Return a literal of C: bytes beyond printable ASCII, and what C would read, in octal."""
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{plain}"'
