"""What the project's programs share: options, and what went wrong as one line and a status."""

import sys
from typing import Any, NoReturn

import click

from eightfold.config import PRESETS
from eightfold.errors import HardwareError, InputError

CONFIG_HELP = f"{', '.join(PRESETS)}, or a .toml file"

config_option = click.option("--config", default="base", show_default=True, help=CONFIG_HELP)


def one_line_errors(command: click.Command, *args: Any, **options: Any) -> NoReturn:
    """Run a command as a program; a wrong call or bad input is one line and exit status 2."""
    try:
        status = command.main(*args, **{**options, "standalone_mode": False})
    except (InputError, click.ClickException) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else error
        click.echo(f"eightfold: {' '.join(str(text).split())}", err=True)
        sys.exit(2)
    except HardwareError as error:
        click.echo(f"eightfold: {error}", err=True)
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        click.echo("eightfold: interrupted", err=True)
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)
