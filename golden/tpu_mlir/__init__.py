"""TPU-MLIR's int8 quantization: `numbers` (scales, codes, multipliers) and its operators.

`windows` has those over windows and sums, `elementwise` those element by element.
"""
