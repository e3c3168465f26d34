"""Clean up Amaranth's netlist text before it becomes Verilog.

Amaranth writes one module per submodule instance, with names such as ``high$74`` and ports numbered
over the whole design. Here equal modules become one, which makes the Verilog of an array as short
as that of one lane, and names become plain identifiers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_MODULE = re.compile(r"^module \\(\S+)\n(.*?)^end$", re.MULTILINE | re.DOTALL)
_PUBLIC = re.compile(r"(?<!\S)\\(\S+)")
_PORT = re.compile(r"^( *wire .*)\b(input|output|inout) \d+ +((?:signed )?)\\(\S+)$")
_CELL = re.compile(r"^ *cell \\(\S+) ")
_CONNECT = re.compile(r"^( *connect )\\(\S+)(.*)$")
_DROPPED = re.compile(r"^ *attribute \\(generator|top|enum_\w+) .*\n", re.MULTILINE)


@dataclass
class _Module:
    path: tuple[str, ...]
    lines: list[str]
    names: dict[str, str] = field(default_factory=dict)


def tidy(text: str, top: str) -> str:
    """Return an equivalent netlist with equal modules merged and plain names.

    ``text``: RTLIL as Amaranth writes it, a module before the modules that it uses. Modules but the
    ``top`` one are called ``<top>_<path>``, where a number at the end of a path's part is left out
    if all instances of the module differ in it only.
    """
    modules = {
        name: _Module(tuple(name.split(".")), body.split("\n"))
        for name, body in _MODULE.findall(_DROPPED.sub("", text))
    }
    bodies: dict[str, str] = {}  # text, with references to representatives, to representative
    representative: dict[str, str] = {}
    for name in reversed(modules):  # users after what they use
        module = modules[name]
        module.names = _plain_names(module.lines)
        module.lines = list(_rewritten(module, modules, representative))
        representative[name] = bodies.setdefault("\n".join(module.lines), name)
    final = _final_names(representative, modules, top)
    parts = []
    for name in modules:
        if representative[name] != name:
            continue
        lines = [_rename_cell(line, final) for line in modules[name].lines]
        mark = "attribute \\top 1\n" if len(modules[name].path) == 1 else ""
        parts.append(f"{mark}module \\{final[name]}\n" + "\n".join(lines) + "end\n")
    return "\n".join(parts)


def _plain_names(lines: list[str]) -> dict[str, str]:
    """Return a plain identifier for each public name of a module that is none."""
    public = dict.fromkeys(name for line in lines for name in _PUBLIC.findall(line))
    taken = {name for name in public if name.isidentifier()}
    names = {}
    ports = 0
    for name in public:
        if name in taken:
            continue
        if re.fullmatch(r"port\$\d+\$\d+", name):
            plain = f"port_{ports}"
            ports = ports + 1
        else:
            plain = re.sub(r"\W+", "_", name).strip("_")
        while plain in taken:
            plain += "_"
        taken.add(plain)
        names[name] = plain
    return names


def _rewritten(
    module: _Module, modules: Mapping[str, _Module], representative: Mapping[str, str]
) -> Iterator[str]:
    """Yield a module's lines with plain names, sorted port numbers and representatives."""
    ports = [match[4] for line in module.lines if (match := _PORT.match(line))]
    ports.sort(key=lambda name: (name != "clk", name != "rst", name))
    order = {name: index for index, name in enumerate(ports, start=1)}
    child: str | None = None
    for line in module.lines:
        if match := _CELL.match(line):
            child = match[1] if match[1] in modules else None
            if child is not None:
                line = line.replace(f"\\{child} ", "\0 ", 1)
                line = _translate(line, module.names)
                yield line.replace("\0 ", f"\\{representative[child]} ", 1)
                continue
        elif child is not None and (match := _CONNECT.match(line)):
            port = modules[child].names.get(match[2], match[2])
            yield f"{match[1]}\\{port}{_translate(match[3], module.names)}"
            continue
        elif match := _PORT.match(line):
            line = f"{match[1]}{match[2]} {order[match[4]]} {match[3]}\\{match[4]}"
        elif line.strip() == "end":
            child = None
        yield _translate(line, module.names)


def _translate(text: str, names: Mapping[str, str]) -> str:
    return _PUBLIC.sub(lambda match: "\\" + names.get(match[1], match[1]), text)


def _rename_cell(line: str, final: Mapping[str, str]) -> str:
    if (match := _CELL.match(line)) and match[1] in final:
        return line.replace(f"\\{match[1]} ", f"\\{final[match[1]]} ", 1)
    return line


def _final_names(
    representative: Mapping[str, str], modules: Mapping[str, _Module], top: str
) -> dict[str, str]:
    """Return the Verilog name of each representative."""
    stems: dict[str, set[str]] = {}
    for name, chosen in representative.items():
        stems.setdefault(chosen, set()).add(_joined(modules[name].path, numbered=False))
    wanted = {chosen: found.pop() if len(found) == 1 else "" for chosen, found in stems.items()}
    counts = {stem: list(wanted.values()).count(stem) for stem in wanted.values()}
    final: dict[str, str] = {}
    for name in modules:
        if name in wanted:
            stem = wanted[name]
            unique = stem and counts[stem] == 1
            plain = stem if unique else _joined(modules[name].path, numbered=True)
            while plain in final.values():
                plain += "_"
            final[name] = plain
    assert final[top] == top
    return final


def _joined(path: tuple[str, ...], *, numbered: bool) -> str:
    parts = [part.partition("$")[0] for part in path[1:]]
    if not numbered:
        parts = [re.sub(r"(?<=[A-Za-z])_?\d+$", "", part) for part in parts]
    return "_".join([path[0], *parts])
