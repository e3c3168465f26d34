"""LiteRT's reference kernels, in a child process, and where they are not followed.

`oracle` is the process that runs them, `deviations` the operators whose kernel is at fault.

Imports `eightfold.model` and errors; needs the extra ``compare``. Sessions and tests import it.
"""
