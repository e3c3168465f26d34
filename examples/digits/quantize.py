"""Quantize the trained network to int8: ``python -m examples.digits.quantize``.

Post-training quantization within the TFLite 8-bit quantization spec, in numpy, from the committed
``float_weights.npz`` and ``calibration_images.npz``. Writes ``digits.tflite``; the same inputs give
the same bytes.
"""

from dataclasses import dataclass

import numpy as np

from eightfold.model.builder import ModelBuilder
from examples.digits import images, network

WEIGHT_MAX = 127
"""Weights are symmetric: -128 is never used."""

KEEPS_QUANTIZATION = ("MAX_POOL_2D", "AVERAGE_POOL_2D", "RESHAPE")
"""Operators that cannot rescale: the output has the scale and zero point of the input."""

FILTER_AXIS = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3}
"""The axis with a scale per element; FULLY_CONNECTED has one scale per tensor."""


@dataclass(frozen=True)
class Quantization:
    """Real value = ``scale * (code - zero_point)``; ``scale`` is float32."""

    scale: np.float32
    zero_point: int


UNIT = Quantization(np.float32(1 / 256), -128)
"""What the spec prescribes for the outputs of LOGISTIC and SOFTMAX."""


def from_range(values: np.ndarray) -> Quantization:
    """Return the asymmetric int8 quantization that just covers the values and zero.

    ``scale = float32((max - min) / 255)``, 1 if all values are zero;
    ``zero_point = rint(-128 - min / scale)``.
    """
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    scale = np.float32((high - low) / 255 or 1.0)
    return Quantization(scale, int(np.clip(np.rint(-128 - low / float(scale)), -128, 127)))


def calibrate(tensors: network.Arrays) -> dict[str, Quantization]:
    """Choose each tensor's quantization: by its range, but where the spec prescribes or ties it.

    ``tensors``: those of the float network on the calibration images, as `forward` returns them.
    """
    chosen = {"image": Quantization(images.IMAGE_SCALE, images.IMAGE_ZERO_POINT)}
    for layer in network.LAYERS:
        if layer.operator in KEEPS_QUANTIZATION:
            chosen[layer.name] = chosen[layer.inputs[0]]
        elif layer.operator in ("LOGISTIC", "SOFTMAX"):
            chosen[layer.name] = UNIT
        elif layer.like:
            both = np.concatenate([tensors[name].ravel() for name in (layer.name, layer.like)])
            chosen[layer.name] = chosen[layer.like] = from_range(both)
        else:
            chosen[layer.name] = from_range(tensors[layer.name])
    return chosen


def quantize_filter(values: np.ndarray, axis: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Quantize a filter symmetrically; return codes and scales.

    ``axis`` is that of the channels, each with its own scale; None for one scale. Codes are
    ``rint(values / scale)``, int8, in [-127, 127]; scales ``max(abs(values)) / 127``, float32,
    shape (channels,) or (), 1 where all values are zero.
    """
    others = tuple(i for i in range(values.ndim) if i != axis)
    peaks = np.abs(values.astype(np.float64)).max(axis=others, keepdims=True)
    scales = np.where(peaks > 0, peaks / WEIGHT_MAX, 1.0).astype(np.float32)
    codes = np.clip(np.rint(values / scales.astype(np.float64)), -WEIGHT_MAX, WEIGHT_MAX)
    return codes.astype(np.int8), scales.reshape(-1) if axis is not None else scales.reshape(())


def quantize_bias(values: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return ``rint(values / scales)`` as int32; raise ValueError where int32 cannot hold it."""
    codes = np.rint(values / scales.astype(np.float64))
    if np.abs(codes).max() > np.iinfo(np.int32).max:
        raise ValueError(f"bias {np.abs(codes).max():.0f} does not fit int32")
    return codes.astype(np.int32)


def options(layer: network.Layer) -> dict[str, int | float | str]:
    """Return the layer's TFLite options by the names of the schema."""
    found: dict[str, int | float | str] = {}
    if layer.operator in (*network.WEIGHTED, "MAX_POOL_2D", "AVERAGE_POOL_2D", "MUL", "ADD"):
        found["fused_activation_function"] = layer.activation
    if layer.size:
        found |= {"padding": "SAME", "stride_h": layer.stride, "stride_w": layer.stride}
    if layer.operator in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        found |= {"filter_height": layer.size, "filter_width": layer.size}
    if layer.operator == "DEPTHWISE_CONV_2D":
        found["depth_multiplier"] = 1
    if layer.operator == "SOFTMAX":
        found["beta"] = 1.0
    return found


def quantize(weights: network.Arrays, codes: np.ndarray) -> bytes:
    """Return the int8 network as a .tflite file: input (1, 8, 8, 1), output (1, 10).

    ``weights``: as `forward` takes them; ``codes``: calibration images, as `images.load` returns.
    """
    chosen = calibrate(network.forward(weights, images.to_real(codes)))
    shape = {name: (1, *rest) for name, rest in network.shapes().items()}
    builder = ModelBuilder("handwritten digits, 8x8 pixels")
    handles = {"image": builder.input(shape["image"], **vars(chosen["image"]), name="image")}
    for layer in network.LAYERS:
        operands = [handles[name] for name in layer.inputs]
        if layer.operator in network.WEIGHTED:
            operands += _parameters(builder, layer, weights, chosen[layer.inputs[0]])
        elif layer.operator == "RESHAPE":
            target = np.array(shape[layer.name], np.int32)
            operands.append(builder.constant(target, name=f"{layer.name}.shape"))
        result = builder.tensor(shape[layer.name], **vars(chosen[layer.name]), name=layer.name)
        builder.operator(layer.operator, operands, [result], options(layer))
        handles[layer.name] = result
    builder.output(handles[network.LAYERS[-1].name])
    return builder.build()


def _parameters(
    builder: ModelBuilder, layer: network.Layer, weights: network.Arrays, source: Quantization
) -> list[int]:
    """Add filter and bias; the bias scale is the float32 product of input and filter scale."""
    filter_name, bias_name = f"{layer.name}.filter", f"{layer.name}.bias"
    axis = FILTER_AXIS.get(layer.operator)
    codes, scales = quantize_filter(weights[filter_name], axis)
    bias_scales = source.scale * scales
    bias = quantize_bias(weights[bias_name], bias_scales)
    return [
        builder.constant(codes, scale=scales, axis=axis or 0, name=filter_name),
        builder.constant(bias, scale=bias_scales, name=bias_name),
    ]


def main() -> None:
    """Quantize the committed float weights and write ``digits.tflite``."""
    with np.load(network.WEIGHTS_FILE) as file:
        weights = dict(file)
    model = quantize(weights, images.load(network.CALIBRATION_FILE)[0])
    network.MODEL_FILE.write_bytes(model)
    print(f"{network.MODEL_FILE.name}: {len(model)} bytes")


if __name__ == "__main__":
    main()
