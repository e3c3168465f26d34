"""What the words of a legal command stream are, whatever the command says."""

from dataclasses import dataclass

from eightfold.isa import (
    COMMANDS,
    ENGINES,
    VERSION,
    Engine,
    Opcode,
    configuration_words,
    used_bits,
)
from eightfold.target.config import AcceleratorConfig

QUEUES = (
    *(tuple(opcode for opcode in ENGINES if ENGINES[opcode] == engine) for engine in Engine),
    (Opcode.WEIGHTS,),
    (Opcode.PARAMETERS,),
)
"""The commands of each queue, the engines' first, in the order of `eightfold.isa.Engine`."""


@dataclass(frozen=True)
class WordRule:
    """What a command's word must be: ``(word ^ expected) & mask == 0``."""

    expected: int
    mask: int


def word_rules(config: AcceleratorConfig) -> dict[Opcode, list[WordRule]]:
    """Return the rules of all words of all commands; the header's index is not among them."""
    rules = {}
    for opcode, command in COMMANDS.items():
        unused = ~used_bits(command, config)
        rules[opcode] = [
            WordRule(0, unused >> 32 * word & 0xFFFF_FFFF) for word in range(command.words)
        ]
    configuration = (VERSION, *configuration_words(config))
    rules[Opcode.BEGIN][1:] = [WordRule(word, 0xFFFF_FFFF) for word in configuration]
    return rules
