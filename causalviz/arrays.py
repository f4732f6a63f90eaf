"""Names of the kinds of arrays."""

import numpy as np
from numpy.typing import NDArray

FloatMatrix = NDArray[np.float32]
"""Float32, two axes; the docstring of the user says which."""
FloatVector = NDArray[np.float32]
IndexVector = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
