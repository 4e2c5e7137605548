from collections.abc import Sequence

from torch import Tensor

def pad(input: Tensor, pad: Sequence[int]) -> Tensor: ...
