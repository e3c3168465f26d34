"""The model region: constants that the commands refer to."""


class ModelImage:
    """Bytes of the model region; equal constants are stored once.

    Every constant starts at a multiple of `ALIGNMENT`.
    """

    ALIGNMENT = 64
    """The widest memory port, in bytes."""

    def __init__(self) -> None:
        self._content = bytearray()
        self._known: dict[bytes, int] = {}

    def add(self, content: bytes) -> int:
        """Return the offset of ``content``, which is stored if it is new."""
        if content not in self._known:
            self._known[content] = len(self._content)
            self._content += content + bytes(-len(content) % self.ALIGNMENT)
        return self._known[content]

    def __bytes__(self) -> bytes:
        """Return the image."""
        return bytes(self._content)
