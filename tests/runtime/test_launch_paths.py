"""Launches of every kind of argument, in any order: the kernel and the values are those of a kernel that was never launched before."""

from __future__ import annotations

import dataclasses
import enum
import os
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import MinitritonError
from minitriton.host.identity import key_of
from minitriton.runtime import jit
from minitriton.runtime.jit import JITFunction
from minitriton.runtime.launching import constants, dispatch
from minitriton.runtime.launching.descriptor_arguments import expanded_arguments
from minitriton.runtime.launching.loading import passed_values


class Tensor:
    """A tensor of a GPU."""

    is_cuda, device = True, SimpleNamespace(type="cuda")

    def __init__(self, address: int, dtype: str) -> None:
        self.address, self.dtype = address, dtype

    def data_ptr(self) -> int:
        return self.address


class CudaArray:
    """An array of a library without torch's methods."""

    def __init__(self, address: int, dtype: str) -> None:
        self.address, self.dtype = address, dtype

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"data": (self.address, False), "typestr": "<f4"}


class Index:
    """An integer by `__index__` only."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class Number:
    """A number by `__float__` only."""

    def __float__(self) -> float:
        return 2.5


class Mode(enum.Enum):
    FAST = 1
    EXACT = True


class Level(enum.IntEnum):
    ONE = 1
    SIXTEEN = 16


class Pair(NamedTuple):
    first: Any
    second: Any


class Couple(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass(frozen=True)
class Settings:
    block: Any
    mode: Any = Mode.FAST


class Plain:
    """An object of a class of the program."""

    def __init__(self, number: Any) -> None:
        self.number = number


@triton.jit
def add_one(x):
    return x + 1


@triton.jit
def add_two(x):
    return x + 2


@triton.jit(do_not_specialize=["c"], do_not_specialize_on_alignment=["d"])
def kernel(a, b, c, d, e: tl.int64, S: tl.constexpr, T: tl.constexpr = 4):
    pass


def descriptor(base: Any, sizes: list[int], block: list[int], padding: str) -> Any:
    return SimpleNamespace(base=base, shape=sizes, strides=[sizes[1], 1], block_shape=block, padding=padding)


INTEGERS = [
    0,
    1,
    -1,
    2,
    16,
    17,
    2**31 - 1,
    2**31,
    2**31 + 1,
    -(2**31) - 1,
    2**63 - 1,
    2**63,
    2**63 + 1,
    2**64 - 1,
    2**64,
]
NUMBERS = [
    *INTEGERS,
    0.0,
    -0.0,
    1.0,
    2.5,
    float("inf"),
    True,
    False,
    Index(1),
    Index(16),
    Number(),
    Level.ONE,
    Level.SIXTEEN,
]
NUMPY = [np.int32(1), np.int64(16), np.uint64(2**63), np.float32(2.5), np.float64(0.0), np.bool_(True)]
ARRAYS = [
    cls(address, dtype)
    for cls in (Tensor, CudaArray)
    for address in (4096, 4100, 8192)
    for dtype in ("float32", "float16")
]
DESCRIPTORS = [
    descriptor(Tensor(address, dtype), sizes, block, padding)
    for address in (4096, 8192)
    for dtype in ("float32", "float16")
    for sizes, block, padding in [([8, 16], [8, 8], "zero"), ([16, 8], [8, 8], "nan"), ([8, 16], [4, 8], "zero")]
]
FUNCTIONS = [add_one, add_two, tl.constexpr(1), tl.constexpr(1.0), tl.constexpr(True)]
LEAVES = [*NUMBERS, *NUMPY, *ARRAYS, *DESCRIPTORS, *FUNCTIONS, None, ()]
ARGUMENTS = [*LEAVES, "refused", object(), *((leaf,) for leaf in LEAVES), *(Pair(leaf, (3, leaf)) for leaf in LEAVES)]
ARGUMENTS += [(ARRAYS[i], ARRAYS[j]) for i, j in [(0, 2), (2, 0), (2, 2), (0, 0)]]
ARGUMENTS += [Couple(1, (3, 1)), (1, (3, 1)), (1, (3, 1), 1), ((1, 3), 1)]
SIMPLE_CONSTANTS = [*INTEGERS, 0.0, -0.0, 1.0, True, False, None, "1", b"1", tl.int32, "i32", *FUNCTIONS, *Mode, *Level]
CONSTANTS = [
    wrapped
    for each in SIMPLE_CONSTANTS
    for wrapped in (
        each,
        (each,),
        [each],
        Pair(each, 1),
        Couple(each, 1),
        Settings(each),
        Plain(each),
        Plain((each, 2)),
    )
]
OPTIONS = [{}, {"num_warps": 8}, {"num_stages": 2}, {"num_warps": 8, "T": 8}]


class Compiled:
    """A kernel that notes what it is launched with."""

    def __init__(self, source: Any, options: Any) -> None:
        self.source = described(source), options.num_warps, options.num_stages
        self.metadata = SimpleNamespace(tensordesc_meta=None)
        self.function, self.name = 1, "kernel"
        self.passed: Any = None
        self.compiled_in: tuple[int, ...] = ()

    def loaded(self) -> Any:
        return self

    def positional(self, compiled_in: tuple[int, ...]) -> Any:
        def launch(x: int, y: int, z: int, stream: int, *values: Any) -> int:
            self.passed = [v for i, v in enumerate(values) if i not in compiled_in]
            return 0

        return launch

    def check(self, code: int, grid: Any) -> None:
        pass


def described(source: Any) -> str:
    return f"{source.signature} {key_of(sorted(source.constants.items()))} {source.attrs}"


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Compiled]]:
    """A GPU, and the kernels that were compiled for it."""
    compiled: list[Compiled] = []

    def compile(source: Any, target: Any, options: Any, **_: Any) -> Compiled:
        compiled.append(Compiled(source, options))
        return compiled[-1]

    monkeypatch.setattr(jit, "_compile", compile)
    monkeypatch.setattr(jit, "_target_of", lambda device: triton.target.GPUTarget("cuda", 90))
    monkeypatch.setattr(dispatch, "has_gpu", lambda: True)
    monkeypatch.setattr(dispatch, "stream_functions", lambda: (lambda: 0, lambda device: 7))
    yield compiled


def expected(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, list[Any]]:
    """What a launch compiles and passes, worked out without anything that a kernel remembers."""
    source, arguments, rest = triton.jit(
        do_not_specialize=["c"], do_not_specialize_on_alignment=["d"]
    )(kernel.fn).source_of_call(args, dict(options))  # fmt: skip
    values = passed_values(expanded_arguments(arguments, None))
    return (described(source), rest.get("num_warps", 4), rest.get("num_stages", 3)), list(values)


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except (MinitritonError, TypeError) as error:
        return type(error)


def check_launches(launches: Iterable[tuple[tuple[Any, ...], dict[str, Any]]]) -> None:
    """Launches one kernel with all of them, and compares each with a first launch."""
    launched: JITFunction = triton.jit(do_not_specialize=["c"], do_not_specialize_on_alignment=["d"])(kernel.fn)
    for args, options in launches:

        def launch(args: Any = args, options: Any = options) -> Any:
            made = launched[(1,)](*args, **options)
            return made.source, made.passed

        assert outcome(launch) == outcome(lambda args=args, options=options: expected(args, options))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("position", [0, 2, 3, 4, 5])
def test_every_argument_has_the_kernel_of_its_first_launch(position: int, device: Any) -> None:
    """All are launched by one kernel, so that any two that were taken for each other would show."""
    rest = (Tensor(4096, "float32"), 5, 5, 5, 5, 64)
    values = {4: INTEGERS, 5: CONSTANTS}.get(position, ARGUMENTS)
    launches = [((*rest[:position], value, *rest[position + 1 :]), {}) for value in values]
    check_launches(launches)
    check_launches(launches[::-1] + launches)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    launches=st.lists(
        st.tuples(
            st.tuples(*[st.sampled_from(ARGUMENTS)] * 4, st.sampled_from(INTEGERS), st.sampled_from(CONSTANTS)),
            st.sampled_from(OPTIONS),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_launches_of_any_arguments_have_the_kernels_of_first_launches(device: Any, launches: Any) -> None:
    check_launches(launches * 2)


KINDS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "tensors": lambda: (Tensor(4096, "float32"), Tensor(8192, "float16"), 5, 6, 7, 64),
    "other arrays": lambda: (CudaArray(4096, "float32"), None, 1.5, True, 7, 64),
    "tuples": lambda: ((Tensor(4096, "float32"), 5), (), ((1, 2.0), None), Pair(1, Tensor(4096, "float32")), 7, 64),
    "descriptors": lambda: (descriptor(Tensor(4096, "float32"), [8, 16], [8, 8], "zero"), 1, 2, 3, 4, 64),
    "NumPy numbers": lambda: (np.int32(3), np.float32(1.5), np.bool_(True), np.uint64(2**63), 7, 64),
    "numbers of other classes": lambda: (Index(16), Number(), Level.SIXTEEN, 5, 7, 64),
    "functions": lambda: (add_one, (add_two, 1), 2, 3, 4, add_one),
    "strings and dtypes": lambda: (1, 2, 3, 4, 5, "fast", tl.float32),
    "floats": lambda: (1, 2, 3, 4, 5, 0.5, -0.0),
    "enum members": lambda: (1, 2, 3, 4, 5, Mode.FAST, Level.ONE),
    "dataclasses made anew": lambda: (1, 2, 3, 4, 5, Settings(64), (Settings(1), Pair(2, 3))),
    "objects made anew": lambda: (1, 2, 3, 4, 5, Plain(64)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", ["tensors", "tuples", "descriptors"])
def test_nothing_is_worked_out_twice(
    kind: str, first: str, device: list[Compiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the first launch was, and with other launches between."""
    launched: JITFunction = triton.jit(kernel.fn)
    grid = lambda meta: (meta["S"] and 1,)  # noqa: E731
    for each in (first, kind, first):
        launched[grid](*KINDS[each]())
        launched.warmup(*KINDS[each](), grid=grid)

    def forbidden(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a launch that was made before is worked out again")

    for name in ("_specialize", "_prepare", "_bind", "_source"):
        monkeypatch.setattr(JITFunction, name, forbidden)
    monkeypatch.setattr(dispatch.Dispatcher, "_generate", forbidden)
    for module in (dispatch, constants):
        monkeypatch.setattr(module, "key_of", forbidden)
    for each in (kind, first, kind):
        assert launched[grid](*KINDS[each]()).passed is not None
        assert launched[(1, 1)](*KINDS[each]()) is launched.warmup(*KINDS[each](), grid=grid)
        launched.run(*KINDS[each](), grid=(1,), warmup=False)


def test_an_argument_that_no_kernel_takes_is_named(device: list[Compiled]) -> None:
    launched: JITFunction = triton.jit(kernel.fn)
    for refused in (object(), (1, Index(2**64)), Index(2**64), 2**64):
        for args in ((1, 2, 3, refused, 5, 6), (1, 2, 3, (1, Index(5)), 5, 6), (1, 2, 3, Index(5), 5, 6)):
            try:
                launched[(1,)](*args)
            except MinitritonError as error:
                assert "parameter 'd' of kernel 'kernel'" in str(error) and args[3] is refused
            else:
                assert args[3] is not refused


def test_hooks_keep_to_the_generated_paths(device: list[Compiled], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    launched: JITFunction = triton.jit(kernel.fn)
    launched.add_pre_run_hook(lambda *args, **kwargs: told.append("before"))
    runtime = triton.knobs.runtime
    monkeypatch.setattr(runtime, "launch_enter_hook", lambda metadata: told.append(metadata.get()["name"]))
    monkeypatch.setattr(runtime, "launch_exit_hook", lambda metadata: told.append("after"))
    launched[(1,)](*KINDS["tuples"]())
    monkeypatch.setattr(JITFunction, "_specialize", lambda *args: pytest.fail("worked out again"))
    launched[(1,)](*KINDS["tuples"]())
    assert told == ["before", "kernel", "after"] * 2


def test_a_changed_class_of_a_constant_is_another_constant(device: list[Compiled]) -> None:
    scale = 2

    class Base:
        SCALE = 1

    class Scaled(Base):
        def __init__(self) -> None:
            self.block = 64

        def factor(self) -> int:
            return scale

    launched: JITFunction = triton.jit(kernel.fn)
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: setattr(Base, "SCALE", True),
        lambda: setattr(Base, "SCALE", 1.0),
        lambda: setattr(Scaled, "factor", lambda self: 3),
    ]
    for number, change in enumerate(changes):
        change()
        for _ in range(2):
            launched[(1,)](1, 2, 3, 4, 5, Scaled())
        assert len(device) == number + 1

    launched[(1,)](1, 2, 3, 4, 5, Scaled.factor)


def test_a_changed_variable_of_a_method_is_another_constant(device: list[Compiled]) -> None:
    scale = 2

    class Scaled:
        def __init__(self) -> None:
            self.block = 64

        def factor(self) -> int:
            return scale

    launched: JITFunction = triton.jit(kernel.fn)
    for value in (2, 3, 3):
        scale = value
        launched[(1,)](1, 2, 3, 4, 5, Scaled())
    assert len(device) == 2


@pytest.mark.parametrize("has_tags", [True, False])
def test_classes_are_compared_with_and_without_their_version_tags(
    has_tags: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "_HAS_TAGS", has_tags)

    class Local:
        number: Any = 1

        def __init__(self) -> None:
            self.block = 64

    keys = [constants.in_process_key(Local()) for _ in range(2)]
    for number in (True, 1.0, 2):
        Local.number = number
        keys.append(constants.in_process_key(Local()))
    assert keys[0] == keys[1] and len(set(keys)) == 4
    assert constants._readers[Local] is not key_of


def test_the_version_tag_of_a_class_is_where_it_is_read() -> None:
    assert constants._HAS_TAGS


def test_stores_of_what_launches_remember_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "_MOST_CLASSES", 8)
    for _ in range(20):
        constants.in_process_key(type("Local", (), {"__init__": lambda self: setattr(self, "x", 1)})())
    assert len(constants._readers) <= 8


CHANGED: dict[str, Any] = {
    "override_arch": "sm80", "debug": True, "fp32_default": "ieee", "triton_version": "3.9.0", "disable_llvm_opt": True,
    "use_ir_loc": "ttir", "instrumentation_mode": "fpsan", "assembler": "driver", "ptxas_path": "/ptxas", "ptxas_options": "-O1",
    "mock_ptx_version": "8.0", "libdevice_path": "/libdevice", "override_dir": "/overrides",
}  # fmt: skip
"""Another value of each setting; of those that are not here, the opposite."""


@pytest.mark.parametrize(
    ("group", "name"), triton.knobs.COMPILED_IN, ids=lambda part: part if isinstance(part, str) else ""
)
def test_a_setting_that_decides_what_is_compiled_is_noticed(group: Any, name: str, device: list[Compiled]) -> None:
    launched: JITFunction = triton.jit(kernel.fn)
    launches = (lambda: launched[(1,)](*KINDS["tensors"]()), lambda: launched.warmup(*KINDS["tensors"](), grid=(1,)))
    for number, launch in enumerate(launches):
        launch()
        with group.scope():
            setattr(group, name, CHANGED.get(name, not getattr(group, name)))
            launch()
            launch()
            assert len(device) == 2, number
        launch()
        assert len(device) == 2


def test_a_changed_variable_of_the_environment_is_noticed(
    device: list[Compiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: JITFunction = triton.jit(kernel.fn)
    for change in (
        lambda: None,
        lambda: monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0"),
        lambda: os.environ.update(TRITON_DEFAULT_FP_FUSION="1"),
        lambda: os.environ.pop("TRITON_DEFAULT_FP_FUSION"),
        lambda: os.environb.__setitem__(b"TRITON_DEFAULT_FP_FUSION", b"0"),
    ):
        change()
        launched[(1,)](*KINDS["tensors"]())
        launched[(1,)](*KINDS["tensors"]())
    assert len(device) == 3


@pytest.mark.parametrize(
    "add",
    [
        lambda chain, hook: chain.add(hook),
        lambda chain, hook: chain.append(hook),
        lambda chain, hook: chain.extend([hook]),
        lambda chain, hook: chain.insert(0, hook),
        lambda chain, hook: chain.__iadd__([hook]),
        lambda chain, hook: chain.__setitem__(slice(0, 0), [hook]),
        lambda chain, hook: chain.calls.append(hook),
    ],
)
@pytest.mark.parametrize("take", [lambda chain, hook: chain.remove(hook), lambda chain, hook: chain.clear()])
def test_hooks_that_come_and_go_are_noticed(add: Any, take: Any, device: list[Compiled]) -> None:
    launched: JITFunction = triton.jit(kernel.fn)
    told: list[Any] = []
    for chain in (triton.knobs.runtime.launch_enter_hook, triton.knobs.runtime.launch_exit_hook):
        launched[(1,)](*KINDS["tensors"]())
        add(chain, told.append)
        launched[(1,)](*KINDS["tensors"]())
        take(chain, told.append)
        launched[(1,)](*KINDS["tensors"]())
    assert len(told) == 2


@triton.jit
def _softmax(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=float("-inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def _threads(codes, ASM: tl.constexpr):
    if ASM == "":
        tl.store(codes, tl.extra.cuda.num_threads())
    else:
        tl.store(codes, tl.inline_asm_elementwise(ASM, "=r", [], dtype=tl.int32, is_pure=False, pack=1))


@triton.jit
def _softmax_that_counts(x_ptr, out_ptr, n, codes, BLOCK: tl.constexpr, ASM: tl.constexpr):
    _threads(codes, ASM)
    _softmax(x_ptr, out_ptr, n, BLOCK)


@pytest.mark.parametrize("asm", ["", "bar.sync 1, 128; mov.b32 $0, 0;"])
def test_a_kernel_that_counts_its_threads_keeps_the_default_number_of_warps(asm: str) -> None:
    kernel = _softmax_that_counts.warmup(tl.float32, tl.float32, 32760, tl.int32, BLOCK=32768, ASM=asm, grid=(1,))
    assert kernel.metadata.num_warps == 4


def test_no_more_warps_are_taken_than_an_sm_has_the_asked_registers_for() -> None:
    kernel = _softmax.warmup(tl.float32, tl.float32, 65000, BLOCK=65536, maxnreg=168, grid=(1,))
    assert kernel.metadata.num_warps == 8


def test_a_row_that_four_warps_cannot_hold_takes_more_where_none_are_asked_for() -> None:
    x = np.linspace(-4, 4, 32760, dtype=np.float32)
    expected = np.exp(x - 4) / np.exp(x - 4).sum(dtype=np.float64)
    for options, warps in (
        ({}, 8),
        ({"num_warps": 4}, 4),
        ({"without": "minitriton"}, 4),
        ({"choose_warps": False}, 4),
    ):
        found = np.zeros_like(x)
        kernel = _softmax[(1,)](x, found, x.size, BLOCK=32768, **options)
        assert kernel.metadata.num_warps == warps
        np.testing.assert_allclose(found, expected, rtol=1e-4)
