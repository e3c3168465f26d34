"""What holds something open, such as a child process, and ends it."""

from types import TracebackType
from typing import Self


class Closing:
    """A context manager whose `close` is called at its end."""

    def close(self) -> None:
        """End what is open, if anything; may be called more than once."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
