"""What golden's functions take and return, by name."""

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int8]
"""int8 codes; a scale and a zero point say which real numbers they stand for."""

Bias = NDArray[np.int32] | None
"""int32, shape (output channels,); None for 0."""

Indices = NDArray[np.signedinteger]
"""Positions along axes: int16, int32 or int64."""

Shape = tuple[int, ...]
"""The sizes of an array's axes."""
