"""Lay out the Verilog that Yosys writes so that people can read it."""

import re

_MODULE = re.compile(r"^module (\w+)\((.*?)\);\n(.*?)^endmodule$", re.MULTILINE | re.DOTALL)
_DIRECTION = re.compile(r"^  (input|output|inout) [^;\n]*?(\w+);\n", re.MULTILINE)
_DECLARATION = r"^  (wire|reg)( signed)?( \[\d+:\d+\])? {name}( = [^;\n]+)?;\n"
_FLIP_FLOP = re.compile(r"^  always @\(posedge (\w+)\)\n((?:    (?!begin).*\n)+)", re.MULTILINE)
_INITIAL = re.compile(r"^  initial begin\n((?:    \w+\[\d+\] = [^;\n]+;\n)+)  end\n", re.MULTILINE)
_REPEATED = re.compile(r"(?<=[{,] )(\w[\w']*(?:\[[\d:]+\])?)((?:, \1)+)(?=,| })")
_ONE_BIT = re.compile(r"\\(\w+)\[(\d+)\](?= )")
"""The name that Yosys gives a register of which a single bit is left."""
_WORD = re.compile(r"^    (\w+)\[(\d+)\] = ([^;\n]+);\n", re.MULTILINE)


def lay_out(text: str) -> str:
    """Return the same modules, easier to read.

    Ports are declared in the module's header, all flip-flops of a clock are in one block, a memory
    that starts with the same word everywhere is filled by a loop, and a bit that is repeated in a
    concatenation is written once. Names that Yosys escapes, because SystemVerilog reserves them,
    get an underscore instead; so does the bit that is left of a register.
    """
    taken = set(re.findall(r"\w+", text))
    text = re.sub(r"\\(\w+) ", lambda match: _free(match[1], taken), text)
    text = _ONE_BIT.sub(r"\1_\2", text)
    text = _MODULE.sub(lambda match: _module(match[1], match[2], match[3]), text)
    return "\n".join(_REPEATED.sub(_replicated, line) for line in text.split("\n"))


def _replicated(match: re.Match[str]) -> str:
    count = 1 + match[2].count(",")
    return match[0] if count < 4 else f"{{{count}{{{match[1]}}}}}"


def _free(name: str, taken: set[str]) -> str:
    while f"{name}_" in taken:
        name += "_"
    return f"{name}_"


def _module(name: str, ports: str, body: str) -> str:
    directions = {match[2]: match[1] for match in _DIRECTION.finditer(body)}
    body = _DIRECTION.sub("", body)
    header = []
    for port in ports.replace(",", " ").split():
        found = re.search(_DECLARATION.format(name=port), body, re.MULTILINE)
        assert found is not None, f"{name}: port {port} is not declared"
        kind, sign, width, start = (group or "" for group in found.groups())
        header.append(f"  {directions[port]} {kind}{sign}{width} {port}{start}")
        body = body[: found.start()] + body[found.end() :]
    body = _INITIAL.sub(_filled, body)
    if re.search(r"\binit_index\b", body):
        body = "  integer init_index;\n" + body
    body = _grouped(body)
    return f"module {name} (\n" + ",\n".join(header) + f"\n);\n{body}endmodule"


def _filled(match: re.Match[str]) -> str:
    words = _WORD.findall(match[1])
    memory, _, value = words[0]
    if len(words) < 4 or any(word[2] != value for word in words):
        return match[0]
    assert [int(word[1]) for word in words] == list(range(len(words)))
    guard, end = ("", "")
    if re.fullmatch(r"\d+'[bdh]0+", value):
        # Nothing relies on it but simulators, where it would be X; Yosys would unroll the loop.
        guard, end = ("`ifndef SYNTHESIS\n", "`endif\n")
    return (
        f"{guard}  initial begin\n"
        f"    for (init_index = 0; init_index < {len(words)}; init_index = init_index + 1)\n"
        f"      {memory}[init_index] = {value};\n"
        f"  end\n{end}"
    )


def _grouped(body: str) -> str:
    """Collect the flip-flops of each clock at the end of the module."""
    clocks: dict[str, list[str]] = {}
    for match in _FLIP_FLOP.finditer(body):
        clocks.setdefault(match[1], []).append(match[2])
    body = _FLIP_FLOP.sub("", body)
    for clock, statements in clocks.items():
        body += f"  always @(posedge {clock}) begin\n{''.join(statements)}  end\n"
    return body
