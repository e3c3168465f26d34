"""What the project's programs share: options, standard output, and how they end."""

from eightfold.common.program.ending import (
    STATUSES,
    Stopped,
    add_debug_option,
    one_line_errors,
    stop_on_signals,
)
from eightfold.common.program.options import (
    CONFIG_HELP,
    config_option,
    memory_option,
    model_argument,
    output_folder_option,
)

__all__ = [
    "CONFIG_HELP",
    "STATUSES",
    "Stopped",
    "add_debug_option",
    "config_option",
    "memory_option",
    "model_argument",
    "one_line_errors",
    "output_folder_option",
    "stop_on_signals",
]
