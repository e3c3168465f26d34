"""Weights and requantization parameters as the fetchers hand them to the matrix engine."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import CommandError, Decoded
from eightfold.isa.shapes import number
from eightfold.target.config import AcceleratorConfig

RECORD_BYTES = 16
"""Of a `isa.REQUANTIZE_LAYOUT` in memory."""


def weight_buffers(
    config: AcceleratorConfig,
    command: Decoded,
    model: NDArray[np.uint8],
    rng: np.random.Generator,
) -> Iterator[NDArray[np.int8]]:
    """Yield the buffers of a WEIGHTS: int8, shape (lanes, width); unused lanes hold random bytes.

    Raises
    ------
    CommandError
        ADDRESS, if the command leaves the model region.
    """
    f, word = command.fields, config.weight_word
    address = f["address"]
    for count, lanes in ((f["full"], config.lanes), (f["partial"], f["partial_lanes"])):
        stored = _part(command, model, address, count * lanes * word)
        taps = stored.view(np.int8).reshape(count, lanes, word)[:, :, : config.width]
        buffers = rng.integers(-128, 128, (count, config.lanes, config.width), dtype=np.int8)
        buffers[:, :lanes] = taps
        yield from buffers
        address += len(stored)


def parameter_banks(
    config: AcceleratorConfig,
    command: Decoded,
    model: NDArray[np.uint8],
    rng: np.random.Generator,
) -> Iterator[dict[str, NDArray[np.int64]]]:
    """Yield the banks of a PARAMETERS: int64 fields of `isa.REQUANTIZE_LAYOUT`, shape (lanes,).

    Lanes without a channel repeat a random channel of the command.

    Raises
    ------
    CommandError
        ADDRESS, if the command leaves the model region. ILLEGAL_COMMAND, if a record has bits set
        that are not used.
    """
    channels, shared = command.fields["channels"], command.fields["shared"]
    address = command.fields["address"]
    record = RECORD_BYTES
    size = record + 4 * channels if shared else record * channels
    stored = _part(command, model, address, size)
    records = stored[: record if shared else size].reshape(-1, record)
    fields = _unpacked(command, records)
    if shared:
        fields = {name: np.repeat(values, channels) for name, values in fields.items()}
        fields["bias"] = stored[record:].view("<i4").astype(np.int64)
    groups = -(-channels // config.lanes)
    chosen = rng.integers(0, channels, groups * config.lanes)
    chosen[:channels] = np.arange(channels)
    for group in chosen.reshape(groups, config.lanes):
        yield {name: values[group] for name, values in fields.items()}


def _part(command: Decoded, model: NDArray[np.uint8], address: int, size: int) -> NDArray[np.uint8]:
    if address + size > len(model):
        text = f"reads MODEL byte {address + size - 1}, of {len(model)}"
        raise CommandError(isa.ErrorCode.ADDRESS, command.number, text)
    return np.asarray(model[address : address + size], order="C")


def _unpacked(command: Decoded, records: NDArray[np.uint8]) -> dict[str, NDArray[np.int64]]:
    """Return the fields of records, each of shape (records,)."""
    low, high = (half.ravel() for half in np.split(records.copy().view("<u8"), 2, axis=1))
    if np.any(high >> np.uint64(isa.REQUANTIZE_LAYOUT.size - 64)):
        text = "a record's highest bits are set"
        raise CommandError(isa.ErrorCode.ILLEGAL_COMMAND, command.number, text)
    fields = {}
    for name, place in isa.REQUANTIZE_LAYOUT:
        values = low >> np.uint64(place.offset) if place.offset < 64 else np.zeros_like(low)
        if place.offset >= 64:
            values = high >> np.uint64(place.offset - 64)
        elif place.offset + place.width > 64:
            values |= high << np.uint64(64 - place.offset)
        values = (values & np.uint64((1 << place.width) - 1)).astype(np.int64)
        if number(place.shape).signed:
            values -= (values >> (place.width - 1)) << place.width
        fields[name] = values
    return fields
