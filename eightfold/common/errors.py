"""What eightfold raises on purpose."""


class InputError(Exception):
    """Bad input or something unsupported: one line that says what, where and what to do instead.

    The command line prints the message after ``eightfold: `` and ends with exit status 2.
    """


class Untaken(InputError):  # noqa: N818 (says what it is)
    """A sound file, of something that Eightfold does not take: no damage to it."""


class Unanswered(InputError):  # noqa: N818 (says what happened)
    """A runtime to compare with died, or was too slow: it has neither agreed nor refused."""


class HardwareError(Exception):
    """The simulated hardware hung or broke a rule of its streams; the command line exits with 1."""
