"""MobileNetV2 with random weights: a network whose tensors are larger than the scratchpad."""
