"""Train the float network with PyTorch: ``python -m examples.digits.train``.

Needs the extra ``train``. Writes ``float_weights.npz`` with batch normalization folded in,
``calibration_images.npz`` (the first training images), ``test_images.npz`` (the test split) and
``sample.npz`` (its first image, for ``eightfold run --input``).
Every random choice is seeded. Training never looks at the test split: see
`examples.digits.accuracy` for that.
"""

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]
from torch.nn import functional  # pyright: ignore[reportMissingImports]

from examples.digits import images, network

SEED = 0
EPOCHS = 60
BATCH = 32
LEARNING_RATE = 4e-3
WEIGHT_DECAY = 1e-3
NORMALIZED = ("stem", "reduce", "spatial", "mixed", "wide")
"""Layers with batch normalization: the convolutions that see more than one pixel per image."""


class Network(nn.Module):
    """`LAYERS` as a module; feature maps are NCHW inside."""

    def __init__(self) -> None:
        super().__init__()
        self.weighted = nn.ModuleDict()
        self.norms = nn.ModuleDict()
        depth = {name: shape[-1] for name, shape in network.shapes().items()}
        for layer in network.LAYERS:
            if layer.operator in network.WEIGHTED:
                self.weighted[layer.name] = _weighted(layer, depth[layer.inputs[0]])
            if layer.name in NORMALIZED:
                self.norms[layer.name] = nn.BatchNorm2d(depth[layer.name])

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape (N, 10), of images of shape (N, 1, 8, 8) in [0, 1]."""
        tensors = {"image": image}
        for layer in network.LAYERS[:-1]:  # the softmax belongs to the loss
            operands = [tensors[name] for name in layer.inputs]
            if layer.operator in network.WEIGHTED:
                y = self.weighted[layer.name](_pad(layer, operands[0]))
                y = self.norms[layer.name](y) if layer.name in NORMALIZED else y
            else:
                y = _PLAIN[layer.operator](layer, *operands)
            tensors[layer.name] = _ACTIVATIONS[layer.activation](y)
        return tensors["logits"]

    def folded(self) -> network.Arrays:
        """Return the weights as `examples.digits.network.forward` takes them, float32.

        Batch normalization ``(y - mean) * g + beta``, ``g = gamma / sqrt(var + eps)``, becomes
        part of the layer before it: filter ``* g``, bias ``(bias - mean) * g + beta``.
        """
        weights: network.Arrays = {}
        for layer in network.LAYERS:
            if layer.operator not in network.WEIGHTED:
                continue
            module = self.weighted[layer.name]
            filter_, bias = module.weight.detach().double(), module.bias.detach().double()
            if layer.name in NORMALIZED:
                norm = self.norms[layer.name]
                gain = norm.weight.detach().double() / torch.sqrt(norm.running_var + norm.eps)
                filter_ = filter_ * gain[:, None, None, None]
                bias = (bias - norm.running_mean) * gain + norm.bias.detach()
            order = {"CONV_2D": (0, 2, 3, 1), "DEPTHWISE_CONV_2D": (1, 2, 3, 0)}
            filter_ = filter_.permute(order.get(layer.operator, (0, 1)))
            weights[f"{layer.name}.filter"] = filter_.float().contiguous().numpy()
            weights[f"{layer.name}.bias"] = bias.float().numpy()
        return weights


def _weighted(layer: network.Layer, depth: int) -> nn.Module:
    if layer.operator == "FULLY_CONNECTED":
        return nn.Linear(depth, layer.channels)
    if layer.operator == "DEPTHWISE_CONV_2D":
        return nn.Conv2d(depth, depth, layer.size, layer.stride, groups=depth)
    return nn.Conv2d(depth, layer.channels, layer.size, layer.stride)


def _pad(layer: network.Layer, x: torch.Tensor) -> torch.Tensor:
    """Pad for ``SAME``, which PyTorch does not have for strides over 1."""
    if not layer.size:
        return x
    (top, bottom), (left, right) = map(layer.window.pads, (0, 1), x.shape[2:])
    return functional.pad(x, (left, right, top, bottom))


_PLAIN = {
    "MAX_POOL_2D": lambda layer, x: functional.max_pool2d(x, layer.size, layer.stride),
    "AVERAGE_POOL_2D": lambda layer, x: functional.avg_pool2d(x, layer.size, layer.stride),
    "QUANTIZE": lambda _, x: x,
    "LOGISTIC": lambda _, x: torch.sigmoid(x),
    "MUL": lambda _, x, y: x * y,
    "ADD": lambda _, x, y: x + y,
    "RESHAPE": lambda _, x: x.permute(0, 2, 3, 1).flatten(1),
}
_ACTIVATIONS = {"NONE": lambda x: x, "RELU": functional.relu, "RELU6": functional.relu6}


def _shifted(batch: torch.Tensor) -> torch.Tensor:
    """Move each image by -1, 0 or 1 pixels both ways; what comes in is black."""
    padded = functional.pad(batch, (1, 1, 1, 1))
    rows, columns = (torch.randint(0, 3, (len(batch), 1)) + torch.arange(8) for _ in range(2))
    index = torch.arange(len(batch))[:, None, None]
    return padded[index, 0, rows[:, :, None], columns[:, None, :]][:, None]


def train(pixels: np.ndarray, labels: np.ndarray) -> Network:
    """Train for a fixed number of epochs, with shifted images, Adam and a cosine schedule."""
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    trained = Network()
    inputs = torch.from_numpy(pixels.astype(np.float32) / network.PIXEL_MAX).permute(0, 3, 1, 2)
    targets = torch.from_numpy(labels.astype(np.int64))
    steps = EPOCHS * (len(labels) // BATCH)
    optimizer = torch.optim.AdamW(trained.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(labels))[: len(labels) // BATCH * BATCH]
        for chosen in order.split(BATCH):
            loss = functional.cross_entropy(trained(_shifted(inputs[chosen])), targets[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return trained.eval()


def main() -> None:
    (pixels, labels), test = images.load_split()
    trained = train(pixels, labels)
    np.savez_compressed(network.WEIGHTS_FILE, **trained.folded())  # pyright: ignore[reportArgumentType]
    count = images.CALIBRATION_COUNT
    images.save(network.CALIBRATION_FILE, pixels[:count], labels[:count])
    images.save(network.TEST_FILE, *test)
    np.savez_compressed(network.SAMPLE_FILE, tensor_0=images.to_codes(test[0][:1]))
    print(f"trained on {len(labels)} images; float weights in {network.WEIGHTS_FILE.name}")


if __name__ == "__main__":
    main()
