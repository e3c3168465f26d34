"""The accelerator in numpy: runs a command stream and proves its tokens.

`machine` is the whole, `matrix`, `vector` and `beats` are its engines; `explain` tells the
arithmetic of one result, and the commands behind one byte. Imports golden and the ground;
benches and tests import it.
"""
