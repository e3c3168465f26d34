"""An operator with its tensors before any inference: what preparation reads shapes from."""

from collections.abc import Sequence

import numpy as np

from eightfold.common.errors import InputError
from eightfold.golden.errors import RejectedError
from eightfold.golden.windows import Window
from eightfold.model.graph import Operator, Tensor


class Node:
    """The tensors and options of one operator.

    Parameters
    ----------
    tensors
        The graph's, by index.
    operator
        One of its operators.

    Attributes
    ----------
    inputs
        The inputs in order; None stands for one that is absent.
    outputs
        The outputs in order.

    Raises
    ------
    InputError, eightfold.golden.errors.SpecError
        From every method: if a tensor is absent, or not what is asked for. The message does not
        name the operator.
    """

    def __init__(self, tensors: Sequence[Tensor], operator: Operator) -> None:
        self.operator = operator
        self.options = operator.options
        self.inputs = tuple(tensors[i] if i >= 0 else None for i in operator.inputs)
        self.outputs = tuple(tensors[index] for index in operator.outputs)

    @property
    def output(self) -> Tensor:
        """The first output."""
        return self.outputs[0]

    def tensor(self, position: int) -> Tensor | None:
        """Return the tensor of an input; None if it is absent."""
        return self.inputs[position] if position < len(self.inputs) else None

    def input(self, position: int) -> Tensor:
        """Return the tensor of an input, which must be there."""
        tensor = self.tensor(position)
        if tensor is None:
            raise InputError(f"input {position} is absent")
        return tensor

    def shape(self, position: int = 0) -> tuple[int, ...]:
        """Return the shape of an input, which must be there."""
        return self.input(position).shape

    def is_constant(self, position: int) -> bool:
        """Return whether an input is there and a constant."""
        tensor = self.tensor(position)
        return tensor is not None and tensor.data is not None

    def is_computed(self, position: int) -> bool:
        """Return whether an input is there and no constant."""
        return self.tensor(position) is not None and not self.is_constant(position)

    def constant(self, position: int) -> np.ndarray:
        """Return the array of an input, which must be there and a constant."""
        tensor = self.input(position)
        if tensor.data is None:
            raise InputError(f"{tensor} is not constant")
        return tensor.data

    def known(self, position: int) -> np.ndarray | None:
        """Return the array of an input, which must be there; None if it is computed."""
        return self.input(position).data

    def known_integer(self, position: int) -> int | None:
        """Return the only element of an input, of whatever rank; None if it is computed."""
        tensor = self.input(position)
        if (size := int(np.prod(tensor.shape))) != 1:
            raise RejectedError(f"{tensor} must be one integer, not {size}")
        return None if tensor.data is None else int(tensor.data.item())

    def known_vector(self, position: int) -> list[int] | None:
        """Return the elements of an input, which must be a vector; None if it is computed."""
        tensor = self.input(position)
        if len(tensor.shape) != 1:
            raise RejectedError(f"{tensor} must be a vector, not {tensor.shape}")
        return None if tensor.data is None else tensor.data.tolist()

    def activation(self) -> str:
        """Return the fused activation's name; NONE where an operator cannot have one."""
        return self.options.get("fused_activation_function", "NONE")

    def option_dtype(self, option: str) -> np.dtype:
        """Return the element type that an option gives the output: int32 or int64."""
        name = self.options[option]
        if name not in ("INT32", "INT64"):
            raise RejectedError(f"{option} must be INT32 or INT64, not {name}")
        return np.dtype(name.lower())

    def filter_window(self) -> Window:
        """Return the window of a convolution, whose size is that of its filter."""
        shape = self.shape(1)
        if len(shape) != 4:
            raise RejectedError(f"{self.tensor(1)} has rank {len(shape)}, not 4")
        return window_of(self.operator, (shape[1], shape[2]))

    def pool_window(self) -> Window:
        """Return the window of a pool, whose size its options say."""
        size = (self.options["filter_height"], self.options["filter_width"])
        return window_of(self.operator, size)


def window_of(operator: Operator, kernel: tuple[int, int]) -> Window:
    """Return the window of a convolution or pool from its options; pools have no dilation.

    Raises
    ------
    eightfold.golden.errors.SpecError
        If a size is below 1.
    """
    options = operator.options
    return Window(
        kernel=kernel,
        stride=(options["stride_h"], options["stride_w"]),
        dilation=(options.get("dilation_h_factor", 1), options.get("dilation_w_factor", 1)),
        padding=options["padding"],
        around=options.get("around", ((0, 0), (0, 0))),
    )
