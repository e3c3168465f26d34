"""A compiled network as files: what a host loads, and what a person reads."""

import json
from collections.abc import Iterator
from pathlib import Path

from eightfold.compiler import Compiled
from eightfold.files import write_file
from eightfold.isa.listing import listing
from eightfold.model import Graph


def write_compiled(graph: Graph, compiled: Compiled, folder: Path) -> Iterator[Path]:
    """Write commands.bin, model.bin, listing.txt and layout.json; yield each path.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    contents = {
        "commands.bin": compiled.words.astype("<u4").tobytes(),
        "model.bin": compiled.model,
        "listing.txt": _listing(graph, compiled).encode(),
        "layout.json": (json.dumps(_layout(graph, compiled), indent=1) + "\n").encode(),
    }
    for name, content in contents.items():
        path = folder / name
        write_file(path, lambda path=path, content=content: path.write_bytes(content))
        yield path


def _listing(graph: Graph, compiled: Compiled) -> str:
    """Return a line per command, under a heading for each operator."""
    lines = []
    before = None
    for issued, line in zip(compiled.issued, listing(compiled.words), strict=True):
        if issued.operator != before:
            lines.append(f"# {graph.operators[issued.operator]}")
            before = issued.operator
        lines.append(line)
    return "\n".join(lines) + "\n"


def _layout(graph: Graph, compiled: Compiled) -> dict:
    def placed(tensors) -> list[dict]:
        return [
            {
                "tensor": tensor,
                "name": graph.tensors[tensor].name,
                "offset": offset,
                "shape": list(graph.tensors[tensor].shape),
                "dtype": graph.tensors[tensor].dtype.name,
            }
            for tensor, offset in tensors.items()
        ]

    return {
        "config": compiled.config.as_dict(),
        "command_bytes": 4 * len(compiled.words),
        "model_bytes": len(compiled.model),
        "arena_bytes": compiled.arena,
        "inputs": placed(compiled.inputs),
        "outputs": placed(compiled.outputs),
        "operators": list(compiled.operators),
    }
