"""Measure the accuracy on the test split: ``python -m examples.digits.accuracy``.

Float: the committed weights in numpy. int8: the committed ``digits.tflite`` through LiteRT's
reference kernels. Needs nothing beyond the ordinary installation.
"""

import numpy as np

from eightfold.operators import load_model
from eightfold.run.reference.oracle import Oracle
from examples.digits import images
from examples.digits.network import MODEL_FILE, TEST_FILE, WEIGHTS_FILE, Arrays, forward


def float_correct(weights: Arrays, codes: np.ndarray, labels: np.ndarray) -> int:
    """Return how many images, as `images.load` returns them, the float network gets right."""
    logits = forward(weights, images.to_real(codes))["logits"]
    return int(np.count_nonzero(logits.argmax(axis=1) == labels))


def int8_correct(model: bytes, codes: np.ndarray, labels: np.ndarray) -> int:
    """Return how many images a .tflite model gets right in the reference kernels.

    The model has one input, (1, 8, 8, 1), and one output, (1, 10). Equal highest probabilities
    count for the lowest class, as in ARG_MAX.
    """
    graph = load_model(model)
    (source,), (output,) = graph.inputs, graph.outputs
    correct = 0
    with Oracle() as oracle:
        for image, label in zip(codes, labels, strict=True):
            tensors = oracle.run(model, {source: image[None]})
            correct += int(tensors[output].argmax() == label)
    return correct


def main() -> None:
    codes, labels = images.load(TEST_FILE)
    with np.load(WEIGHTS_FILE) as file:
        weights = dict(file)
    model = MODEL_FILE.read_bytes()
    for kind, correct in (
        ("float", float_correct(weights, codes, labels)),
        ("int8", int8_correct(model, codes, labels)),
    ):
        print(f"{kind:5} {correct} of {len(labels)}, {100 * correct / len(labels):.2f} %")


if __name__ == "__main__":
    main()
