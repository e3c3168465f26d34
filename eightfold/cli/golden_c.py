"""``eightfold golden-c``: the reference arithmetic as C."""

from pathlib import Path

import click

from eightfold.common.program import output_folder_option


@click.command("golden-c")
@output_folder_option
def golden_c(output: Path) -> None:
    """Write the reference arithmetic as C99, for C models and DPI-C.

    Fixed-point primitives, the requantizer, and the kernels of LOGISTIC, TANH, QUANTIZE, the RELU
    family, LEAKY_RELU, ADD, SUB, MUL, CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED, the pools, MEAN
    and SUM, bit for bit as golden computes them: a header that documents every function, C files
    that need nothing but the C standard library, and a SystemVerilog package that imports the
    scalar functions. See docs/golden-c.md.

    \b
    Example:
      eightfold golden-c -o golden-c
      cc -std=c99 -O2 -Igolden-c my_model.c golden-c/*.c -lm
    """
    from eightfold.conformance.c import write_golden_c

    for path in write_golden_c(output):
        click.echo(path)
