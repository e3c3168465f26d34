"""The process of a `eightfold.conformance.adapters.model.ModelAdapter`: it answers requests."""

import contextlib
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eightfold.common.child import Channel, one_line, packed
from eightfold.common.posix import limit_data
from eightfold.conformance.adapters.load import adapter_class, raised
from eightfold.conformance.adapters.model import (
    BY_INDEX,
    IN_ORDER,
    RAISED,
    READY,
    REFUSED,
    REPLY,
    REQUEST,
    ModelAdapter,
    Refused,
)

_KINDS = "biuf"
"""Kinds of the arrays that can be sent: booleans, integers, floats."""


def serve() -> None:
    """Answer requests on the socket whose number is the first argument, until it closes.

    The other arguments are the adapter's file, its class, and the limit of data in bytes.
    """
    number, file, name, memory = sys.argv[1:]
    limit_data(int(memory))
    channel = Channel(socket.socket(fileno=int(number)))
    sys.path.insert(0, str(Path(file).resolve().parent))
    try:
        adapter = adapter_class(file, name)()
    except BaseException as error:
        _say(channel, RAISED, f"{name} does not start: {raised(error, file)}")
        return
    assert isinstance(adapter, ModelAdapter)
    channel.send(REPLY.pack(READY, 0))
    with contextlib.suppress(EOFError):
        while True:
            size, count = REQUEST.unpack(channel.receive(REQUEST.size))
            model, inputs = channel.receive(size), channel.receive_tensors(count)
            _reply(channel, adapter, file, model, inputs)


def _reply(
    channel: Channel,
    adapter: ModelAdapter,
    file: str,
    model: bytes,
    inputs: dict[int, np.ndarray],
) -> None:
    try:
        kind, tensors = _checked(adapter.run(model, inputs))
    except Refused as error:
        _say(channel, REFUSED, one_line(error))
    except Exception as error:
        _say(channel, RAISED, raised(error, file))
    else:
        channel.send(REPLY.pack(kind, len(tensors)) + packed(tensors))


def _checked(results: Any) -> tuple[bytes, dict[int, np.ndarray]]:
    """Return what `ModelAdapter.run` has returned, by index or place."""
    if isinstance(results, Mapping):
        kind, items = BY_INDEX, results.items()
    elif isinstance(results, Sequence) and not isinstance(results, str | bytes):
        kind, items = IN_ORDER, enumerate(results)
    else:
        raise TypeError(
            f"run returned {type(results).__name__}, not a dict of arrays or a list of them"
        )
    tensors = {}
    for index, value in items:
        array = np.asarray(value)
        if not isinstance(index, int | np.integer) or array.dtype.kind not in _KINDS:
            raise TypeError(
                f"run returned {type(value).__name__} {array.dtype} for tensor {index!r}, "
                "not an array of numbers for the tensor's index"
            )
        tensors[int(index)] = array
    return kind, tensors


def _say(channel: Channel, kind: bytes, message: str) -> None:
    text = message.encode("utf-8", "replace")[:4000]
    channel.send(REPLY.pack(kind, len(text)) + text)
