"""A launch with wrong arguments, options or grid names the kernel or the argument and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.target import CUDAOptions, GPUTarget


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def copies(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)  # wrong
    tl.store(out + i, value + 1)


@triton.jit
def stores(out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 1.0)  # wrong


class DeviceArray:
    """What an array on a GPU looks like."""

    dtype = np.dtype("float32")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"data": (1 << 20, False), "typestr": "<f4", "shape": (64,), "version": 3, "strides": None}


def arrays() -> list[np.ndarray]:
    return [np.ones(64, np.float32) for _ in range(3)]


def pointers() -> list[Any]:
    return [triton.MockTensor(tl.float32)] * 3


def test_a_second_launch_with_keywords_runs_like_the_first() -> None:
    x, y, out = arrays()
    for _ in range(2):
        out[:] = 0
        add[(1,)](x, y, out, 64, BLOCK=64)
        assert (out == 2).all()


@pytest.mark.parametrize("launched_before", [False, True])
@pytest.mark.parametrize(
    ("numbers", "keywords", "message"),
    [
        ((), {"BLOCK": 64}, r"add\[grid\]\(\) missing 1 required positional argument: 'n'"),
        ((4,), {}, r"add\[grid\]\(\) missing 1 required positional argument: 'BLOCK'"),
        ((4, 64, 5), {}, r"add\[grid\]\(\) takes .* positional arguments"),
        ((4, 64), {"BLOCK": 64}, r"add\[grid\]\(\) got multiple values for argument 'BLOCK'"),
    ],
    ids=["missing", "missing constexpr", "too many", "given twice"],
)
def test_a_call_that_does_not_fit_the_parameters_is_a_type_error_that_names_the_kernel(
    launched_before: bool, numbers: tuple[int, ...], keywords: dict[str, int], message: str
) -> None:
    if launched_before:
        add[(1,)](*arrays(), 64, BLOCK=64)
    with pytest.raises(TypeError, match=message):
        add[(1,)](*arrays(), *numbers, **keywords)


def test_warmup_takes_the_parameters_of_the_kernel() -> None:
    with pytest.raises(TypeError, match=r"add\(\) missing a required argument: 'n'"):
        add.warmup(*pointers(), BLOCK=64, grid=(1,))
    with pytest.raises(TypeError, match=r"add\(\) too many positional arguments"):
        add.warmup(*pointers(), 4, 64, 3, grid=(1,))


def test_a_kernel_called_without_a_grid_says_how_to_launch_it() -> None:
    with pytest.raises(RuntimeError, match=r"launch it with add\[grid\]\(\.\.\.\)"):
        add(*arrays(), 4, 64)


WRONG_OPTIONS = [
    ({"num_warp": 4}, "unknown compile option 'num_warp'", "help: did you mean 'num_warps'?"),
    ({"block": 4}, "unknown compile option 'block'", "known options: "),
    ({"num_warps": 3}, "num_warps must be a power of 2, got 3", "help: use one of 1, 2, 4, 8, 16, 32"),
    ({"num_warps": 0}, "num_warps must be an integer of at least 1, got 0", "help: "),
    ({"num_warps": "4"}, "num_warps must be an integer of at least 1, got '4'", "help: for example num_warps=4"),
    ({"num_warps": True}, "num_warps must be an integer of at least 1, got True", "test_wrong_launches.py:"),
    ({"num_stages": 2.5}, "num_stages must be an integer of at least 0, got 2.5", "help: for example num_stages=3"),
    ({"num_stages": 10**9}, "num_stages must be at most 1024, got 1000000000", "help: "),
    ({"num_ctas": [2]}, "num_ctas must be an integer of at least 1, got [2]", "help: "),
    ({"warp_size": 64}, "warp_size must be at most 32, got 64", "help: for example warp_size=32"),
    ({"maxnreg": 2**31}, "maxnreg must be at most 65536, got 2147483648", "help: for example maxnreg=128"),
    ({"maxnreg": 0}, "maxnreg must be an integer of at least 1, got 0", "help: "),
    (
        {"ptx_version": "8.7"},
        "ptx_version must be an integer of at least 1, got '8.7'",
        "help: for example ptx_version=87",
    ),
    ({"ptx_options": 3}, "ptx_options must be a string, got 3", "help: "),
    ({"enable_fp_fusion": "no"}, "enable_fp_fusion must be True or False, got 'no'", "help: "),
    ({"launch_pdl": 2}, "launch_pdl must be True or False, got 2", "help: "),
    ({"debug": "yes"}, "debug must be True or False, got 'yes'", "help: "),
    ({"extern_libs": 5}, "extern_libs must be a dictionary of names and paths, got 5", "help: "),
    ({"extern_libs": ["m"]}, "extern_libs must be a dictionary of names and paths, got ['m']", "help: "),
    ({"extern_libs": {"m": 3}}, "extern_libs must be a dictionary of names and paths, got {'m': 3}", "help: "),
    ({"without": 5}, "without must be a string of pass names, got 5", "help: for example without='minitriton'"),
    ({"pipeline": 5}, "pipeline must be a string, got 5", "help: "),
    ({"ir_override": 5}, "ir_override must be the path of a file, got 5", "help: "),
    ({"arch": 3.5}, "arch is 3.5, which names no architecture", "help: write it as in sm90"),
    ({"supported_fp8_dtypes": "fp8e5"}, "supported_fp8_dtypes must be a list of names, got 'fp8e5'", "help: "),
    ({"allowed_dot_input_precisions": 1}, "allowed_dot_input_precisions must be a list of names, got 1", "help: "),
    ({"default_dot_input_precision": 4}, "default_dot_input_precision must be a string, got 4", "help: "),
    ({"num_ctas": 3}, "num_ctas must be a power of 2, got 3", "help: use one of 1, 2, 4, 8, 16"),
    ({"num_stages": -1}, "num_stages must be an integer of at least 0, got -1", "help: "),
    ({"maxnreg": "many"}, "maxnreg must be an integer of at least 1, got 'many'", "help: "),
    ({"pipeline": "inlin"}, "unknown pass 'inlin'", "help: did you mean 'inline'?"),
]


@pytest.mark.parametrize("row", WRONG_OPTIONS, ids=[str(row[0]) for row in WRONG_OPTIONS])
def test_a_wrong_option_is_refused_in_a_compile(row: tuple[Any, ...], refused: Callable[..., Any]) -> None:
    options, *pieces = row
    refused(lambda: add.warmup(*pointers(), 4, BLOCK=64, grid=(1,), **options), *pieces)


@pytest.mark.parametrize("row", WRONG_OPTIONS[:-1], ids=[str(row[0]) for row in WRONG_OPTIONS[:-1]])
def test_a_wrong_option_is_refused_in_a_launch_on_host_arrays(
    row: tuple[Any, ...], refused: Callable[..., Any]
) -> None:
    options, *pieces = row
    refused(lambda: add[(1,)](*arrays(), 4, BLOCK=64, **options), *pieces)


def test_a_version_of_ptx_that_llvm_does_not_know_is_refused(refused: Callable[..., Any]) -> None:
    refused(
        lambda: add.warmup(*pointers(), 4, BLOCK=64, grid=(1,), ptx_version=3),
        "PTX version 3 is not supported",
        "help: supported: 70 to",
    )


WRONG_GRIDS = [
    ((), "a grid has 1 to 3 dimensions, not 0"),
    ((1, 2, 3, 4), "a grid has 1 to 3 dimensions, not 4"),
    ((-1,), "grid (-1,): its x must be 0 to 2147483647"),
    ((1, 65536), "grid (1, 65536): its y must be 0 to 65535"),
    ((2**31,), "its x must be 0 to 2147483647"),
    ((1.5,), "a grid consists of integers, got (1.5,)"),
    (2.0, "a grid consists of integers, got 2.0"),
    ("one", "a grid consists of integers, got 'one'"),
    (None, "a grid consists of integers, got None"),
    (lambda meta: (meta["n"] / meta["BLOCK"],), "a grid consists of integers, got (1.0,)"),
]


@pytest.mark.parametrize(("grid", "message"), WRONG_GRIDS, ids=[message for _, message in WRONG_GRIDS])
def test_a_wrong_grid_is_refused(grid: Any, message: str, refused: Callable[..., Any]) -> None:
    refused(lambda: add[grid](*arrays(), 64, BLOCK=64), message, "help: write kernel[(x, y, z)](...)")


@pytest.mark.parametrize("grid", [1, (1,), [1, 1], (np.int64(1),), (1, 1, 1, 1), lambda meta: 1, lambda meta: [1] * 5])
def test_grids_may_be_spelled_in_many_ways(grid: Any) -> None:
    x, y, out = arrays()
    add[grid](x, y, out, 64, BLOCK=64)
    assert (out == 2).all()


WRONG_ARGUMENTS = [
    (object(), "parameter 'x' of kernel 'add': failed to specialize argument of type object", "help: pass a tensor"),
    ("text", "parameter 'x' of kernel 'add': failed to specialize argument of type str", "help: pass a tensor"),
    ([1.0, 2.0], "parameter 'x' of kernel 'add': failed to specialize argument of type list", "help: pass a tensor"),
    (np.ones(64, np.complex64), "parameter 'x' of kernel 'add': element type 'complex64'", "help: pass an array of"),
    (np.array(["a"]), "parameter 'x' of kernel 'add': element type '<U1'", "help: pass an array of"),
    (2**70, "parameter 'x' of kernel 'add': integer argument", "does not fit in 64 bits"),
    (7, f"{__file__}:", "Unsupported ptr type", "help: pass a pointer"),
    (None, f"{__file__}:", "cannot compute with None", "help: use a tensor or a number"),
]


@pytest.mark.parametrize("row", WRONG_ARGUMENTS, ids=[type(row[0]).__name__ for row in WRONG_ARGUMENTS])
def test_an_argument_that_is_no_array_is_refused(row: tuple[Any, ...], refused: Callable[..., Any]) -> None:
    wrong, *pieces = row
    _, y, out = arrays()
    refused(lambda: add[(1,)](wrong, y, out, 64, BLOCK=64), *pieces)


def test_host_and_device_arrays_do_not_mix(refused: Callable[..., Any]) -> None:
    _, y, out = arrays()
    refused(
        lambda: add[(1,)](DeviceArray(), y, out, 64, BLOCK=64),
        "mixes them with device arrays",
        "help: move all arguments to the CPU, or all to the GPU",
    )


@pytest.mark.parametrize("block", [63, 64.0, None])
def test_a_wrong_constexpr_is_refused_at_the_line_that_uses_it(block: Any, refused: Callable[..., Any]) -> None:
    refused(lambda: add[(1,)](*arrays(), 64, BLOCK=block), f"{__file__}:", "error: ", "help: ")


def test_an_access_out_of_bounds_names_the_line_the_block_and_the_array(
    refused: Callable[..., Any], wrong_line: Callable[[Any], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MINITRITON_INTERPRET", raising=False)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    x, out = np.ones(70, np.float32), np.ones(128, np.float32)
    error = refused(
        lambda: copies[(2,)](x, out, BLOCK=64),
        wrong_line(copies),
        "out-of-bounds: 4 bytes at byte 280 of `x` (280 bytes) (CTA (1, 0, 0), thread 6)",
        "value = tl.load(x + i)",
        "help: check the mask",
    )
    assert str(error).startswith(wrong_line(copies))


def test_on_the_interpreter_an_access_out_of_bounds_names_the_line_and_the_program(
    refused: Callable[..., Any], wrong_line: Callable[[Any], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    x, out = np.ones(70, np.float32), np.ones(128, np.float32)
    error = refused(
        lambda: copies[(2,)](x, out, BLOCK=64),
        wrong_line(copies),
        "is outside every array",
        "(element (6,) of the tile)",
        "(program (1, 0, 0))",
        "value = tl.load(x + i)",
        "help: check the mask",
    )
    assert str(error).startswith(wrong_line(copies))


@pytest.mark.parametrize("interpret", ["0", "1"])
def test_a_store_to_a_read_only_array_names_the_line(
    refused: Callable[..., Any], wrong_line: Callable[[Any], str], monkeypatch: pytest.MonkeyPatch, interpret: str
) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", interpret)
    out = np.ones(64, np.float32)
    out.flags.writeable = False
    refused(lambda: stores[(1,)](out, BLOCK=64), wrong_line(stores), "read-only", "help: pass a copy")


def test_options_are_taken_in_every_form_that_means_the_same() -> None:
    options = CUDAOptions.for_target(
        GPUTarget("cuda", 90),
        num_warps=np.int64(8),
        num_stages=tl.constexpr(2),
        debug=1,
        extern_libs=[("m", Path("m.bc"))],
        without=["a", "b"],
        supported_fp8_dtypes=["fp8e5"],
    )
    assert (options.num_warps, options.num_stages, options.debug) == (8, 2, True)
    assert [type(x) for x in (options.num_warps, options.num_stages, options.debug)] == [int, int, bool]
    assert (options.extern_libs, options.without) == ((("m", "m.bc"),), "a,b")
    assert options.supported_fp8_dtypes == ("fp8e5",)


@pytest.mark.parametrize("given", [5, "n", [2.5]])
def test_a_decorator_takes_lists_of_parameters(given: Any, refused: Callable[..., Any]) -> None:
    refused(
        lambda: triton.jit(do_not_specialize=given)(add.fn), "do_not_specialize must be a list of parameters", "help: "
    )
