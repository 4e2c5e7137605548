"""What a kernel remembers: compiled kernels by device, functions by their source, globals by their value."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton._utils import find_paths_if, get_iterable_path
from minitriton.runtime.caches.device import DeviceCaches

FACTOR = tl.constexpr(2)


@triton.jit
def add_one(x):
    return x + 1


@triton.jit
def apply(out_ptr, FUNCTIONS: tl.constexpr, x):
    tl.store(out_ptr, FUNCTIONS[0](x))


@triton.jit
def apply_one(out_ptr, FUNCTION: tl.constexpr, x):
    tl.store(out_ptr, FUNCTION(x))


@triton.jit
def scaled(out_ptr):
    tl.store(out_ptr, FACTOR)


def test_clearing_is_told() -> None:
    told: list[str] = []
    caches = DeviceCaches(lambda: told.append("forgotten"))
    caches[0][0]["key"] = "kernel"
    caches[1][0].clear()
    assert (caches[0][0], told) == ({"key": "kernel"}, ["forgotten"])
    caches.clear()
    assert (len(caches), len(told)) == (0, 2)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, DeviceCaches.copy, lambda c: pickle.loads(pickle.dumps(c))]
)
def test_a_copy_holds_the_same_and_tells_nobody(duplicate: Callable[[DeviceCaches], DeviceCaches]) -> None:
    told: list[str] = []
    caches = DeviceCaches(lambda: told.append("forgotten"))
    caches[0][0]["key"] = "kernel"
    made = duplicate(caches)
    assert type(made) is DeviceCaches and made == caches
    made[1][0]["other"] = "kernel"
    made.clear()
    assert (told, list(caches)) == ([], [0])
    assert type(made)() == {} == copy.copy(caches[1][0])


def test_a_cleared_kernel_is_found_in_the_cache_on_disk() -> None:
    out = np.zeros(1, np.int32)
    first = apply_one[(1,)](out, add_one, 4)
    apply_one.device_caches.clear()
    second = apply_one[(1,)](out, add_one, 4)
    assert second is not first and second.hash == first.hash
    assert apply_one[(1,)](out, add_one, 4) is second


@pytest.mark.parametrize("in_tuple", [False, True])
def test_a_function_given_to_a_kernel_counts_by_its_source(in_tuple: bool) -> None:
    out = np.zeros(1, np.int32)
    kernel, given = (apply, (add_one,)) if in_tuple else (apply_one, add_one)
    kernel[(1,)](out, given, 4)
    assert out[0] == 5
    source = add_one.src
    add_one._unsafe_update_src(source.replace("x + 1", "x + 2"))
    kernel[(1,)](out, given, 4)
    assert out[0] == 6
    add_one._unsafe_update_src(source)
    kernel[(1,)](out, given, 4)
    assert out[0] == 5


def test_a_launch_without_checks_still_watches_the_globals(monkeypatch: pytest.MonkeyPatch) -> None:
    scaled[(1,)](np.zeros(1, np.int32))
    launched: list[tuple[int, ...]] = []
    launch = scaled._watching_globals(lambda *values: len(launched.append(values) or launched))
    assert launch(1, 1, 1, 0) == 1
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(3))
    with pytest.raises(
        RuntimeError, match=r"Global variable FACTOR has changed .* from constexpr\[2\] to constexpr\[3\]"
    ):
        launch(1, 1, 1, 0)
    assert len(launched) == 1


def test_a_variable_of_an_enclosing_function_that_changed_is_an_error_too() -> None:
    factor = tl.constexpr(2)

    @triton.jit
    def scale(x):
        tl.store(x, tl.load(x) * factor)

    x = np.ones(1, np.float32)
    scale[(1,)](x)
    factor = tl.constexpr(3)
    with pytest.raises(RuntimeError, match="Global variable factor has changed"):
        scale[(1,)](x)
    assert x[0] == 2


@triton.jit(do_not_specialize=["m"])
def apart(x, n, m, pair, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n + m + pair[0])


def compiled_by_hand(kernel, *args, device: object = 0, **options):
    """A compile in the steps of Triton's `JITFunction.run`, as Helion's precompiler makes it."""
    kernels, _, target, backend, binder = kernel.device_caches[device]
    bound, specialization, _ = binder(*args, **options)
    kinds, keys = zip(*specialization, strict=True)
    constants = find_paths_if(list(kinds), lambda _, kind: kind == "constexpr")
    promises = find_paths_if(list(keys), lambda _, key: isinstance(key, str))
    signature = dict(zip(bound, kinds, strict=True))
    constexprs = {path: get_iterable_path(list(bound.values()), path) for path in constants}
    attrs = {path: backend.parse_attr(get_iterable_path(list(keys), path)) for path in promises}
    source = kernel.ASTSource(kernel, signature, constexprs, attrs)
    kernels["by hand"] = kernel.compile(source, target=target, options=backend.parse_options(options).__dict__)
    return kernels["by hand"]


@pytest.mark.parametrize("device", [0, "cuda:0"], ids=["number", "device of torch"])
def test_what_a_device_has_compiles_the_kernel_that_a_launch_compiles(device: object) -> None:
    apart.device_caches.clear()
    args = (triton.MockTensor(tl.float32), 16, 16, (1, 5))
    by_hand = compiled_by_hand(apart, *args, BLOCK=32, num_warps=2, device=device)
    assert by_hand.hash == apart.warmup(*args, BLOCK=32, num_warps=2, grid=(1,)).hash
    kernels, keys, target, backend, binder = apart.create_binder()
    assert (kernels, keys, target, backend.target) == ({}, {}, apart.device_caches[0][2], target)
    assert binder(*args, BLOCK=32)[2] == {}


def test_the_options_of_jit_are_told_by_its_signature() -> None:
    assert {"do_not_specialize", "do_not_specialize_on_alignment"} <= set(inspect.signature(triton.jit).parameters)
