"""A compiled network as files: what a host loads, and what a person reads."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from eightfold.common.files import Content, write_files
from eightfold.compiler import Compiled
from eightfold.isa import Space
from eightfold.isa.listing import listing
from eightfold.model import Graph


def write_compiled(graph: Graph, streams: Mapping[Path, Compiled]) -> list[Path]:
    """Write commands.bin, model.bin, listing.txt and layout.json of each stream; return the paths.

    The files are written all or none: commands of one network beside the weights of another would
    compute something.

    Parameters
    ----------
    graph
        What was compiled.
    streams
        By the folder of each.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    contents: dict[Path, Content] = {}
    for folder, compiled in streams.items():
        contents |= {
            folder / "commands.bin": compiled.words.astype("<u4").tobytes(),
            folder / "model.bin": compiled.model,
            folder / "listing.txt": _listing(graph, compiled),
            folder / "layout.json": json.dumps(_layout(graph, compiled), indent=1) + "\n",
        }
    write_files(contents)
    return list(contents)


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
