"""A runtime's kernels, run in a child process: what `--compare` compares with.

A failed check inside a kernel (``TFLITE_CHECK``) does not raise an exception, it aborts the whole
process. So the kernels run in a child, which is started once and again after each such end.

Source: the ``BUILTIN_REF`` operator resolver of LiteRT, single-threaded, without delegates, or
TFLite Micro as it is; see docs/numerics.md for why only these kernels are a bit-exact reference.
"""

import contextlib
import math
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping

import numpy as np

from eightfold.closing import Closing
from eightfold.extras import needs_extra, require_module
from eightfold.files import IMPORT_ROOT
from eightfold.reference.runtimes import RUNTIMES

_START = "from eightfold.reference.oracle import serve; serve()"
_REQUEST = struct.Struct("<?QI")  # same model as before, bytes of the model, number of inputs
_REPLY = struct.Struct("<?I")  # rejected, number of tensors or bytes of the message
_TENSOR = struct.Struct("<i2sI")  # tensor index, dtype as kind and item size, rank


class OracleError(Exception):
    """The reference gave no result."""


class OracleRejected(OracleError):  # noqa: N818 (says what happened)
    """The interpreter refused the model or its inputs; the message is the interpreter's."""


class OracleAborted(OracleError):  # noqa: N818 (says what happened)
    """The child process died (a check in a kernel failed) or was too slow and was killed.

    The message names the signal and the last line that the child wrote to its standard error.
    """


class Oracle(Closing):
    """A runtime's kernels in a persistent child process.

    Use it as a context manager, or call `close`. The child starts with the first run (about a
    third of a second); a run of a small model then costs about a millisecond. Not for use by
    several threads at once.

    Parameters
    ----------
    runtime
        ``litert`` or ``tflm``: whose kernels, a key of `eightfold.reference.runtimes.RUNTIMES`.
    timeout
        Seconds after which a run is given up and the child killed.
    memory
        Bytes of data that the child may have; an allocation beyond them fails, and the runtime
        refuses the model or ends.

    Raises
    ------
    InputError
        If the runtime is not installed.
    """

    @needs_extra("compare", "compare")
    def __init__(
        self, runtime: str = "litert", *, timeout: float = 60.0, memory: int = 2**32
    ) -> None:
        require_module(RUNTIMES[runtime].module)  # the child imports it
        self.runtime = RUNTIMES[runtime]
        self._arguments = [runtime, str(memory)]
        self._timeout = timeout
        self._child: subprocess.Popen[bytes] | None = None
        self._channel: _Channel | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._model: bytes | None = None

    def run(self, model: bytes, inputs: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Run a model once and return the tensors of subgraph 0 by their index.

        Running the same bytes again reuses the interpreter, so several input batches of one model
        cost one preparation.

        Parameters
        ----------
        model
            The bytes of a ``.tflite`` file.
        inputs
            Arrays by tensor index, each of the tensor's shape and dtype.

        Returns
        -------
        dict
            Every tensor that can be read after the run: inputs, intermediate tensors, outputs and
            constants. Tensors that no operator uses may be missing.

        Raises
        ------
        OracleRejected
            If the interpreter refuses the model or the inputs.
        OracleAborted
            If the child dies or exceeds the timeout. The next run starts a new child.
        """
        channel = self._start()
        self._errors.seek(0)
        self._errors.truncate()
        try:
            repeated = model == self._model
            sent = b"" if repeated else bytes(model)
            head = _REQUEST.pack(repeated, len(sent), len(inputs))
            channel.send(head + sent + _pack(inputs))
            self._model = model
            rejected, count = _REPLY.unpack(channel.receive(_REPLY.size))
            if not rejected:
                return channel.receive_tensors(count)
            message = channel.receive(count).decode()
            if self.runtime.prints:
                message = next(iter(self._said()), message)
        except (OSError, EOFError) as error:  # OSError includes TimeoutError
            raise OracleAborted(self._end(error)) from None
        except BaseException:
            self._stop()  # interrupted halfway: the answer would be taken for the next one's
            raise
        self._model = None  # the child drops an interpreter that failed
        raise OracleRejected(message)

    def close(self) -> None:
        """End the child process, if there is one; the oracle cannot run again."""
        self._stop()
        self._errors.close()

    def _start(self) -> "_Channel":
        if self._channel is not None:
            return self._channel
        self._model = None
        package_root = str(IMPORT_ROOT)
        paths = [package_root, *filter(None, [os.environ.get("PYTHONPATH")])]
        local, remote = socket.socketpair()
        local.settimeout(self._timeout)
        with remote:
            self._child = subprocess.Popen(
                [sys.executable, "-c", _START, str(remote.fileno()), *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=[remote.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )
        self._channel = _Channel(local)
        return self._channel

    def _stop(self) -> int:
        """Kill the child, if it still runs, and return its exit status as `subprocess` does."""
        status = 0
        if self._channel is not None:
            self._channel.close()
        if self._child is not None:
            self._child.kill()
            status = self._child.wait()
        self._channel = self._child = None
        return status

    def _end(self, error: Exception) -> str:
        """Clear up after a run without a reply and say what happened."""
        if isinstance(error, TimeoutError):
            self._stop()
            return f"the reference kernels took longer than {self._timeout:g} s and were killed"
        assert self._child is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(self._timeout)  # it is ending: its own status, not that of a kill
        status = self._stop()
        end = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        said = self._said()
        return f"the reference kernels ended with {end}" + (f": {said[-1]}" if said else "")

    def _said(self) -> list[str]:
        """Return the lines that the child has written since the run began."""
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").splitlines()
        return [line.strip() for line in lines if line.strip()]


class _Channel:
    """Length-prefixed messages over a stream socket, the same at both ends."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._reader = end.makefile("rb")
        self.send = end.sendall

    def receive(self, size: int) -> bytes:
        """Return exactly ``size`` bytes; raise `EOFError` if the other end is gone."""
        content = self._reader.read(size)
        if len(content) != size:
            raise EOFError("the other end closed the connection")
        return content

    def receive_tensors(self, count: int) -> dict[int, np.ndarray]:
        tensors = {}
        for _ in range(count):
            index, code, rank = _TENSOR.unpack(self.receive(_TENSOR.size))
            shape = struct.unpack(f"<{rank}Q", self.receive(8 * rank))
            dtype = np.dtype(code.decode())
            # From a bytearray, so that the array is writable like any other.
            content = bytearray(self.receive(math.prod(shape) * dtype.itemsize))
            tensors[index] = np.frombuffer(content, dtype).reshape(shape)
        return tensors

    def close(self) -> None:
        self._reader.close()
        self._socket.close()


def _pack(tensors: Mapping[int, np.ndarray]) -> bytes:
    parts = []
    for index, tensor in tensors.items():
        array = np.asarray(tensor)
        code = f"{array.dtype.kind}{array.dtype.itemsize}".encode()
        parts += [
            _TENSOR.pack(index, code, array.ndim),
            struct.pack(f"<{array.ndim}Q", *array.shape),
        ]
        parts.append(array.tobytes())
    return b"".join(parts)


def serve() -> None:
    """Answer requests on the socket whose number is the first argument, until it closes.

    The other arguments are the runtime and the limit of its data in bytes. This is the child's side
    of `Oracle`; nothing else calls it.
    """
    number, runtime, memory = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    channel = _Channel(socket.socket(fileno=int(number)))
    prepare = RUNTIMES[runtime].prepare
    interpreter = None
    with contextlib.suppress(EOFError):
        while True:
            repeated, size, count = _REQUEST.unpack(channel.receive(_REQUEST.size))
            model = channel.receive(size)
            inputs = channel.receive_tensors(count)
            try:
                if interpreter is None or not repeated:
                    interpreter = None  # first, so that two do not take memory at once
                    interpreter = prepare(model)
                result = interpreter.run(inputs)
            except Exception as error:  # whatever the interpreter's binding raises
                interpreter = None
                message = " ".join(str(error).split()).encode()
                channel.send(_REPLY.pack(True, len(message)) + message)
            else:
                channel.send(_REPLY.pack(False, len(result)) + _pack(result))
