"""Options of more than one program."""

import click

from eightfold.config import PRESETS

CONFIG_HELP = f"{', '.join(PRESETS)}, or a .toml file"

config_option = click.option("--config", default="base", show_default=True, help=CONFIG_HELP)
