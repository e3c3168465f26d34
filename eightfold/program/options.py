"""Options of more than one program."""

from pathlib import Path

import click

from eightfold.config import PRESETS

CONFIG_HELP = f"{', '.join(PRESETS)}, or a .toml file"

config_option = click.option("--config", default="base", show_default=True, help=CONFIG_HELP)

memory_option = click.option(
    "--memory",
    default="ideal",
    show_default=True,
    help="How long memory takes: ideal, soc-100, ddr3-16, sdr-sdram-16, or fields such as "
    "latency=40,shared=1,bytes_per_cycle=2.",
)

output_folder_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Where to write; made if it is not there.",
)
