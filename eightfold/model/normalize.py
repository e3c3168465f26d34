"""Models as LiteRT accepts them, where the graph means the same."""

import struct

import tflite

_QUANTIZED_DIMENSION = 16
"""Where a quantization's vtable says at which byte its table holds the quantized dimension."""


def normalize_dimensions(model: bytes) -> bytes:
    """Return a model with the quantized dimension 0 in every tensor of rank 1.

    Some files state another one, TFLite Micro's person_detect the 3 of the weights beside each
    bias. There is no choice in such a tensor, and TFLite Micro never looks; LiteRT refuses the
    file. Nothing else of the file changes.

    Parameters
    ----------
    model
        The bytes of a ``.tflite`` file that `eightfold.model.read_model` has read.
    """
    subgraph = tflite.Model.GetRootAs(model, 0).Subgraphs(0)
    assert subgraph is not None, "a model that was read has a subgraph"
    changed = bytearray(model)
    places, kept = set(), set()
    for index in range(subgraph.TensorsLength()):
        tensor = subgraph.Tensors(index)
        assert tensor is not None, "a vector has as many tensors as it says"
        values = tensor.Quantization()
        # A file without the field means 0, the schema's default.
        if values and (offset := values._tab.Offset(_QUANTIZED_DIMENSION)):
            chosen = places if tensor.ShapeLength() == 1 else kept
            chosen.add(values._tab.Pos + offset)
    for place in places - kept:  # tensors may share what the file says of quantization
        struct.pack_into("<i", changed, place, 0)
    return bytes(changed)
