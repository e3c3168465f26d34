"""What holds something open, such as a child process, and ends it."""

from abc import abstractmethod
from contextlib import AbstractContextManager
from types import TracebackType


class Closing(AbstractContextManager):
    """A context manager whose `close` is called at its end."""

    @abstractmethod
    def close(self) -> None:
        """End what is open, if anything; may be called more than once."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
