"""Options of more than one program."""

from pathlib import Path
from typing import Any

import click

from eightfold.common.files import NETWORKS
from eightfold.target.config import PRESETS

CONFIG_HELP = f"{', '.join(PRESETS)}, or a .toml file"


class _Model(click.Path):
    """A model's file, or the name of a network that comes with Eightfold, if no file has it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the file."""
        path = super().convert(value, param, ctx)
        assert isinstance(path, Path)
        known = NETWORKS / f"{path}.tflite"
        return known if path.name == str(path) and not path.is_file() and known.exists() else path


model_argument = click.argument("model", type=_Model(path_type=Path))

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
