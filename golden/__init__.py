"""The TFLite 8-bit quantization spec in numpy: pure functions on arrays, exact to the bit.

One module per operator family, one function per operator. `docs/numerics.md` is the contract in
words and formulas. Nothing here knows about hardware, models or files.
"""
