"""Every function of the language's libdevice has a meaning on the interpreter, and it is the one of NVIDIA's code on the emulator."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32, f64, i32, i64
from xdsl.ir import Attribute, Block, Region

from minitriton.codegen.nvidia.device_library import find_libdevice
from minitriton.dialects import tt
from minitriton.emulator import device_functions
from minitriton.interpreter.launch import meaning_of
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.numbers.libdevice import function_of
from minitriton.language.extra.libdevice import OVERLOADS

pytestmark = pytest.mark.skipif(find_libdevice() is None, reason="libdevice is not installed")

COUNT = 64
DTYPES = {
    "int32": np.int32, "uint32": np.uint32, "int64": np.int64, "uint64": np.uint64, "fp32": np.float32, "fp64": np.float64,
}  # fmt: skip
IR_TYPES: dict[str, Attribute] = {"int32": i32, "uint32": i32, "int64": i64, "uint64": i64, "fp32": f32, "fp64": f64}
FUNCTIONS = [
    (symbol, tuple(a.name for a in arguments), result.name)
    for overloads in OVERLOADS.values()
    for arguments, (symbol, result) in overloads.items()
]
COMPARED = [
    "__nv_cospif", "__nv_sinpif", "__nv_remainderf", "__nv_fast_powf", "__nv_fdimf", "__nv_ldexpf", "__nv_nextafterf", "__nv_saturatef",
    "__nv_roundf", "__nv_rintf", "__nv_truncf", "__nv_isnanf", "__nv_signbitf", "__nv_fmodf",
]  # fmt: skip
"""Functions by NumPy, small ones, with results that are exact or have rules of their own."""


@functools.cache
def numbers(dtype: str, seed: int) -> np.ndarray:
    """Special numbers and random ones."""
    rng = np.random.default_rng(seed)
    if dtype[:2] == "fp":
        special = [
            0,
            -0.0,
            1,
            -1,
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            np.inf,
            -np.inf,
            np.nan,
            1e30,
            3.7,
            -10,
            100,
            1e10,
            88,
            -88,
            0.9,
        ]
        drawn = [*special, *rng.standard_normal(COUNT - len(special)) * rng.choice([0.1, 1, 10], COUNT - len(special))]
    else:
        drawn = np.resize([0, 1, 2, 3, 7, 31, 32, 100, np.iinfo(dtype).max, np.iinfo(dtype).min], COUNT)
    return rng.permutation(np.array(drawn).astype(DTYPES[dtype]))


def machine_for(symbol: str, arguments: tuple[str, ...], result: str) -> TileMachine:
    """A machine with a function `f` that calls the library's."""
    types = [TensorType(IR_TYPES[name], (COUNT,)) for name in arguments]
    block = Block(arg_types=types)
    op = tt.ExternElementwiseOp(
        list(block.args), TensorType(IR_TYPES[result], (COUNT,)), libname="", libpath="", symbol=symbol, pure=True
    )
    block.add_ops([op, tt.ReturnOp([op.results[0]])])
    function = tt.FuncOp("f", FunctionType.from_lists(types, [op.results[0].type]), Region(block))
    machine = TileMachine(ModuleOp([function]), (1, 1, 1), meaning_of, device_functions=device_functions.evaluate)
    machine.code(block)
    return machine


def on_interpreter(symbol: str, arguments: tuple[str, ...], result: str, inputs: list[np.ndarray]) -> np.ndarray:
    machine = machine_for(symbol, arguments, result)
    machine.start_program((0, 0, 0))
    held: list[Any] = [array.view(f"i{array.itemsize}") if array.dtype.kind == "u" else array for array in inputs]
    with np.errstate(all="ignore"):
        return np.asarray(machine.call("f", held)[0]).view(DTYPES[result])


def test_every_function_of_the_table_has_a_meaning() -> None:
    assert len(FUNCTIONS) > 300
    for symbol, arguments, result in FUNCTIONS:
        assert machine_for(symbol, arguments, result) is not None


@pytest.mark.parametrize("symbol", COMPARED)
def test_a_function_by_numpy_is_that_of_libdevice(symbol: str) -> None:
    arguments, result = next((arguments, result) for name, arguments, result in FUNCTIONS if name == symbol)
    assert function_of(symbol) is not None
    inputs = [numbers(name, place) for place, name in enumerate(arguments)]
    if symbol == "__nv_ldexpf":
        inputs[1] = np.clip(inputs[1], -100, 100)
    found = on_interpreter(symbol, arguments, result, inputs)
    expected = device_functions.evaluate(symbol, inputs, np.dtype(DTYPES[result]))
    if result[:2] == "fp":
        np.testing.assert_allclose(found, expected, rtol=1e-3 if "fast" in symbol else 2.0**-22, atol=2.0**-126)
        np.testing.assert_array_equal(np.signbit(found[expected == 0]), np.signbit(expected[expected == 0]))
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "symbol", ["__nv_double2uint_ru", "__nv_sad", "__nv_fmaf_rd", "__nv_byte_perm", "__nv_rnorm3df"]
)
def test_what_numpy_lacks_is_run_as_libdevice_has_it(symbol: str) -> None:
    arguments, result = next((arguments, result) for name, arguments, result in FUNCTIONS if name == symbol)
    inputs = [numbers(name, place) for place, name in enumerate(arguments)]
    expected = device_functions.evaluate(symbol, inputs, np.dtype(DTYPES[result]))
    np.testing.assert_array_equal(on_interpreter(symbol, arguments, result, inputs), expected)


@pytest.mark.parametrize(
    ("symbol", "given", "expected"),
    [
        ("__nv_llrint", np.array([2.5, -3.5, 1e18]), np.array([2, -4, 10**18])),
        ("__nv_ffs", np.array([0, 8, -1], np.int32), np.array([0, 4, 1], np.int32)),
        ("__nv_popc", np.array([0, 7, -1], np.int32), np.array([0, 3, 32], np.int32)),
        ("__nv_clz", np.array([0, 1, -1], np.int32), np.array([32, 31, 0], np.int32)),
        ("__nv_float2int_rd", np.array([1.9, -1.1, 3e9], np.float32), np.array([1, -2, 2**31 - 1], np.int32)),
    ],
)
def test_known_results(symbol: str, given: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(device_functions.evaluate(symbol, [given], expected.dtype), expected)
