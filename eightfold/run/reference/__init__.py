"""LiteRT's reference kernels and TFLite Micro, in a child process, and where they are not followed.

`runtimes` are the two, `oracle` is the process that runs one of them, `deviations` the operators
whose kernel is at fault.

Imports `eightfold.model` and errors; needs the extra ``compare``. Sessions and tests import it.
"""
