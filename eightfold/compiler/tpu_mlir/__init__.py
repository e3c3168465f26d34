"""Networks in TPU-MLIR's quantized forms, compiled to the same commands.

`network` is what users call; `lower` and `windows` say what each operator becomes.

Imports every other room of the compiler; none of them imports it.
"""
