"""Numbers of the microscaling formats as torch tensors of their bits (OCP Microscaling Formats, version 1.0, section 5).

MXFP4Tensor(x).data        4-bit floats (E2M1), one in each byte:   1.0 → 0b0010, -6.0 → 0b1111
MXScaleTensor(x).data      8-bit exponents (E8M0):                  1.0 → 127, NaN → 255

Needs torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

_FP4_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""The magnitude that each 3-bit code stands for."""

_LARGEST_FP4_CODE = 7
_SIGN = 8
_SCALE_BIAS = 127
_SCALE_NAN = 255


class _Bits:
    """`data` is made from `data` (a tensor of numbers), or by `random` in `size`."""

    data: torch.Tensor

    def __init__(
        self,
        data: torch.Tensor | None = None,
        size: int | tuple[int, ...] | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        self.device = device
        if data is not None:
            assert isinstance(data, torch.Tensor), "Parameter data must be a torch tensor"
            self.device = data.device
            self.data = self._encoded(data)
        elif size is not None:
            self.size = size if isinstance(size, tuple) else (size,)
        else:
            raise ValueError("Either parameter data or size must be provided")

    def _encoded(self, values: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class MXFP4Tensor(_Bits):
    """4-bit floats: a sign, two bits of exponent, one of mantissa; no infinity and no NaN."""

    def random(self) -> MXFP4Tensor:
        """Fills it with codes of equal probability."""
        self.data = torch.randint(0, 16, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype: torch.dtype) -> torch.Tensor:
        """The numbers as float32."""
        assert dtype == torch.float32, "Currently only float32 is supported for fp4e2m1 to float conversion"
        magnitudes = torch.tensor(_FP4_MAGNITUDES, dtype=dtype, device=self.data.device)
        codes = self.data.long()
        return torch.where(codes >= _SIGN, -magnitudes[codes & 7], magnitudes[codes & 7])

    def _encoded(self, values: torch.Tensor) -> torch.Tensor:
        """To nearest, ties to even codes; what is too large, infinite or NaN becomes the largest magnitude."""
        size = values.abs()
        code = torch.zeros(values.shape, dtype=torch.uint8, device=values.device)
        for lower in range(_LARGEST_FP4_CODE):
            halfway = (_FP4_MAGNITUDES[lower] + _FP4_MAGNITUDES[lower + 1]) / 2
            above = size > halfway if lower % 2 == 0 else size >= halfway
            code += above.to(torch.uint8)
        code = torch.where(torch.isnan(values), torch.full_like(code, _LARGEST_FP4_CODE), code)
        return code | (torch.signbit(values).to(torch.uint8) * _SIGN)

    def to_packed_tensor(self, dim: int) -> torch.Tensor:
        """Two codes in each byte, neighbours along `dim`, the first in the low half; an odd length is padded by a zero."""
        assert 0 <= dim < self.data.ndim, "The dimension to pack along is not within the range of tensor dimensions"
        data = self.data.movedim(dim, -1)
        if data.shape[-1] % 2:
            data = torch.nn.functional.pad(data, (0, 1))
        return (data[..., 0::2] | (data[..., 1::2] << 4)).movedim(-1, dim).contiguous()

    def unpack_packed_tensor(
        self, packed_tensor: torch.Tensor, dim: int, original_shape: Sequence[int]
    ) -> torch.Tensor:
        """The codes that `to_packed_tensor(dim)` made `packed_tensor` of, in their `original_shape`."""
        packed = packed_tensor.movedim(dim, -1)
        pairs = torch.stack((packed & 0xF, packed >> 4), dim=-1)
        codes = pairs.flatten(start_dim=-2)[..., : original_shape[dim]]
        return codes.movedim(-1, dim).to(torch.uint8).contiguous()


class MXScaleTensor(_Bits):
    """Powers of two by their biased exponents; 255 is NaN."""

    def random(self, low: float | None = None, high: float | None = None) -> MXScaleTensor:
        """Fills it with exponents from that of `low` to that of `high` (default: all), never NaN."""
        least = 0 if low is None else max(0, int(math.log2(low)) + _SCALE_BIAS)
        most = 254 if high is None else min(254, max(0, int(math.log2(high)) + _SCALE_BIAS))
        assert least <= most, "Low must be less than or equal to high"
        self.data = torch.randint(least, most + 1, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype: torch.dtype) -> torch.Tensor:
        """The numbers as float32."""
        assert dtype == torch.float32, "Currently only float32 is supported for f8e8m0 to float conversion"
        powers = torch.ldexp(torch.ones_like(self.data, dtype=dtype), self.data.int() - _SCALE_BIAS)
        return torch.where(self.data == _SCALE_NAN, torch.full_like(powers, torch.nan), powers)

    def _encoded(self, values: torch.Tensor) -> torch.Tensor:
        """The exponent of the largest power of two that is not greater; NaN for what is infinite, NaN or not positive."""
        exponents = torch.frexp(values).exponent - 1 + _SCALE_BIAS
        valid = torch.isfinite(values) & (values > 0)
        codes = torch.where(valid, exponents.clamp(0, 254), torch.full_like(exponents, _SCALE_NAN))
        return codes.to(torch.uint8)
