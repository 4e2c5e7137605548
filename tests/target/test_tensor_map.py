"""Tensor maps: equal to what the driver makes, and back."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minitriton.target.tensor_map import DRIVER_TYPES, ELEMENT_BYTES, SIZE, TensorMap, decode, replace_field

CALLS: list[Any] = json.loads((Path(__file__).parent / "driver_tensor_maps.json").read_text())
"""Calls of cuTensorMapEncodeTiled on an H200: arguments, return code, the bytes in hexadecimal."""


def map_of(arguments: list[Any]) -> TensorMap:
    kind, _, address, dims, strides, box, steps, interleave, swizzle, promotion, fill = arguments
    sizes = (tuple(v) for v in (dims, strides, box, steps))
    return TensorMap(address, DRIVER_TYPES[kind], *sizes, interleave, swizzle, promotion, bool(fill))


@pytest.mark.parametrize("call", CALLS, ids=lambda c: str(c[0]))
def test_a_map_is_encoded_or_refused_as_the_driver_does(call: Any) -> None:
    arguments, code, text = call
    map = map_of(arguments)
    assert (map.refusal() is None) == (code == 0)
    if code == 0:
        assert map.encode().hex() == text
        assert decode(bytes.fromhex(text)) == map
    else:
        with pytest.raises(ValueError):
            map.encode()


@st.composite
def maps(draw: Any) -> TensorMap:
    element = draw(st.sampled_from(list(ELEMENT_BYTES)))
    rank = draw(st.integers(1, 5))
    interleave = draw(st.integers(0, 2)) if rank >= 3 else 0
    grain = 16 * max(1, interleave)

    def some(values: Any, count: int) -> tuple[int, ...]:
        return tuple(draw(values) for _ in range(count))

    inner = 16 // min(16, ELEMENT_BYTES[element])
    return TensorMap(
        draw(st.integers(0, (1 << 57) // grain)) * grain,
        element,
        some(st.integers(1, 1 << 32), rank),
        tuple(grain * s for s in some(st.integers(0, (1 << 40) // grain - 1), rank - 1)),
        (inner, *some(st.integers(1, 256), rank - 1)),
        some(st.integers(1, 8), rank),
        interleave,
        1 if interleave == 2 else draw(st.integers(0, 3)),
        draw(st.integers(0, 3)),
        draw(st.booleans()) and element[0] not in "us",
    )


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(maps())
def test_decoding_undoes_encoding(map: TensorMap) -> None:
    assert decode(map.encode()) == map


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(maps())
def test_replacing_every_field_of_zeros_makes_the_map(map: TensorMap) -> None:
    data = bytes(SIZE)
    single = {
        "global_address": map.address, "rank": map.rank - 1, "elemtype": list(ELEMENT_BYTES).index(map.element),
        "interleave_layout": map.interleave, "swizzle_mode": map.swizzle, "fill_mode": int(map.nan_fill),
    }  # fmt: skip
    for field, value in single.items():
        data = replace_field(data, field, 0, value)
    many = {"global_dim": map.dims, "global_stride": map.strides, "box_dim": map.box, "element_stride": map.steps}
    for field, values in many.items():
        for index, value in enumerate(values):
            data = replace_field(data, field, index, value)
    found = decode(data)
    assert found.encode()[:8] == map.encode()[:8]
    assert (found.dims, found.strides, found.box, found.steps) == (map.dims, map.strides, map.box, map.steps)
    assert (found.element, found.interleave, found.swizzle, found.nan_fill) == (
        map.element, map.interleave, map.swizzle, map.nan_fill,
    )  # fmt: skip


def test_bytes_that_are_no_map_are_refused() -> None:
    with pytest.raises(ValueError, match="rank 8"):
        decode(b"\xff" * SIZE)


def test_a_strided_box_takes_every_nth_element() -> None:
    assert TensorMap(0, "f16", (64, 64), (128,), (64, 7), (2, 3)).taken == (64, 3)
