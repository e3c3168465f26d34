"""Whether commands say all bytes that they read and write."""

import numpy as np

from eightfold.compiler import Compiled
from eightfold.isa import Space
from eightfold.isa.decode import line, read_stream
from eightfold.isa.issued import Interval
from eightfold.sim.machine.accesses import accesses


def expect_covered(stream: Compiled) -> None:
    """Check that every command says all bytes that it reads and writes: tokens rely on it."""
    commands = read_stream(stream.config, stream.words)
    for issued, command in zip(stream.issued, commands, strict=True):
        touched = accesses(stream.config, command)
        for sets, spans in ((touched.reads, issued.reads), (touched.writes, issued.writes)):
            for space, offsets in sets.items():
                if space == Space.MODEL or not offsets.size:
                    continue
                inside = [said(span, offsets) for span in spans if span.space == space]
                assert np.any(inside, axis=0).all(), line(command)


def said(interval: Interval, offsets: np.ndarray) -> np.ndarray:
    """Return which of some bytes an interval has."""
    inside = (offsets >= interval.start) & (offsets < interval.stop)
    if interval.pitch:
        inside &= (offsets - interval.start) % interval.pitch < interval.size
    return inside
