"""`tl.atomic_load`, `atomic_store` and `atomic_poll` (Triton 3.9): what they read, write and wait for, how they are ordered, and what they refuse."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects.text import parse_module, print_module
from minitriton.errors import MinitritonError
from minitriton.interpreter.errors import InterpreterError
from minitriton.runtime.jit import JITFunction

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float16", "float32", "float64"]


@pytest.fixture(params=["interpreter", "sm80", "sm90"])
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a launch is given to run on this: the interpreter, or the emulator with its checks."""
    monkeypatch.setenv("MINITRITON_INTERPRET", "1" if request.param == "interpreter" else "0")
    monkeypatch.setenv("MINITRITON_EMULATOR_CHECK", "1")
    return {} if request.param == "interpreter" else {"arch": request.param}


def fresh(kernel: JITFunction) -> JITFunction:
    """The same kernel without anything that it remembers of earlier launches."""
    return triton.jit(kernel.fn)


@triton.jit
def copies(x, y, n, BLOCK: tl.constexpr, SEM_OF_LOAD: tl.constexpr, SEM_OF_STORE: tl.constexpr):
    i = tl.arange(0, BLOCK)
    found = tl.atomic_load(x + i, mask=i < n, sem=SEM_OF_LOAD)
    tl.atomic_store(y + i, found, mask=i < n - 1, sem=SEM_OF_STORE)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block", [1, 16, 1024])
def test_a_tile_is_read_and_written_where_its_masks_hold(dtype: str, block: int, level: dict[str, Any]) -> None:
    x = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, block).astype(dtype)
    y = np.zeros_like(x)
    n = block - block // 3
    fresh(copies)[(1,)](x, y, n, BLOCK=block, SEM_OF_LOAD="acquire", SEM_OF_STORE="release", **level)
    expected = np.where(np.arange(block) < n - 1, x, np.zeros_like(x))
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
def test_numbers_are_read_and_written(scope: str, level: dict[str, Any]) -> None:
    @triton.jit
    def counts(x, SCOPE: tl.constexpr):
        old = tl.atomic_load(x, scope=SCOPE)
        tl.atomic_store(x + 1, old + 1, scope=SCOPE)
        x.atomic_store(x.atomic_load(sem="relaxed") * 2, sem="relaxed")

    x = np.array([20, 0], np.int32)
    counts[(1,)](x, SCOPE=scope, **level)
    assert x.tolist() == [40, 21]


@triton.jit
def rows(x, y, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    row = tl.atomic_load(x + i)
    tl.store(y + i[:, None] * SIZE + i[None, :], row[:, None] + row[None, :])


def test_threads_that_hold_copies_of_an_element_get_the_value_that_one_of_them_read(level: dict[str, Any]) -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros((32, 32), np.float32)
    fresh(rows)[(1,)](x, y, SIZE=32, **level)
    np.testing.assert_array_equal(y, x[:, None] + x[None, :])


@triton.jit
def polls(x, found, limit, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(found + i, tl.atomic_poll(x + i, 7, timeout_ns=limit).to(tl.int8))
    tl.store(found + BLOCK, tl.atomic_poll(x, 7, sem="relaxed", timeout_ns=0).to(tl.int8))
    tl.store(found + BLOCK + 1, tl.atomic_poll(x + 1, 7).to(tl.int8))


@pytest.mark.parametrize("dtype", ["int16", "uint32", "int64"])
def test_polling_with_a_time_limit_tells_which_elements_were_seen(dtype: str, level: dict[str, Any]) -> None:
    x = np.array([6, 7, 8, 7], dtype)
    found = np.full(6, 9, np.int8)
    fresh(polls)[(1,)](x, found, 100, BLOCK=4, **level)
    assert found.tolist() == [0, 1, 0, 1, 0, 1]


@triton.jit
def hands_over(data, flag, out, limit, BLOCK: tl.constexpr, HOW: tl.constexpr, SEM: tl.constexpr):
    """Program 0 waits for what program 1 writes."""
    i = tl.arange(0, BLOCK)
    if tl.program_id(0) == 1:
        tl.store(data + i, i * 3)
        tl.atomic_store(flag + i if HOW == "tile" else flag, 1)
    else:
        if HOW == "load":
            while tl.atomic_load(flag, sem=SEM) == 0:
                pass
        elif HOW == "tile":
            tl.atomic_poll(flag + i, 1, sem=SEM)
        elif HOW == "poll":
            tl.atomic_poll(flag, 1, sem=SEM)
        else:
            tl.device_assert(tl.atomic_poll(flag, 1, sem=SEM, timeout_ns=limit))
        tl.store(out + i, tl.load(data + (BLOCK - 1 - i)))


def race_when_handed_over(how: str, sem: str, arch: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the emulator finds a race; what program 0 reads is checked."""
    monkeypatch.setenv("MINITRITON_EMULATOR_CHECK", "1")
    data, flag, out = np.zeros(256, np.int32), np.zeros(256, np.int32), np.zeros(256, np.int32)
    kernel = fresh(hands_over)[(2,)](data, flag, out, 1 << 30, BLOCK=256, HOW=how, SEM=sem, arch=arch, debug=True)
    assert out.tolist() == [3 * (255 - i) for i in range(256)]
    return bool(kernel.last_report.findings)


@pytest.mark.parametrize("how", ["load", "poll", "tile", "time limit"])
@pytest.mark.parametrize("arch", ["sm80", "sm90"])
def test_what_a_program_wrote_before_a_release_another_reads_after_its_acquire(
    how: str, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not race_when_handed_over(how, "acquire", arch, monkeypatch)


@pytest.mark.filterwarnings("ignore:.*global-race")
@pytest.mark.parametrize("how", ["load", "poll", "tile"])
def test_without_an_acquire_that_is_a_race(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert race_when_handed_over(how, "relaxed", "sm90", monkeypatch)


def test_the_interpreter_says_that_a_poll_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    data, flag = np.zeros(16, np.int32), np.zeros(1, np.int32)
    with pytest.raises(InterpreterError, match="a poll that never ends"):
        fresh(hands_over)[(2,)](data, flag, data, 0, BLOCK=16, HOW="poll", SEM="acquire")


@triton.jit
def ordered(x, y, N: tl.constexpr, SEM_OF_LOAD: tl.constexpr, SEM_OF_STORE: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_store(y + i, tl.atomic_load(x + i, sem=SEM_OF_LOAD), sem=SEM_OF_STORE)


def opcodes(n: int, load: str, store: str) -> list[str]:
    x = np.zeros(n, np.int32)
    ptx = fresh(ordered).warmup(x, x, N=n, SEM_OF_LOAD=load, SEM_OF_STORE=store, grid=(1,)).asm["ptx"]
    found = re.findall(r"\b((?:ld|st)\.(?:acquire|release|relaxed)[\w.]+|fence\.\w+\.\w+|bar\.sync)", ptx)
    return [op for i, op in enumerate(found) if i == 0 or op != found[i - 1]]


@pytest.mark.parametrize(
    ("n", "load", "store", "expected"),
    [
        (128, "acquire", "release", ["ld.acquire.gpu.global.b32", "bar.sync", "st.release.gpu.global.b32"]),
        (128, "relaxed", "relaxed", ["ld.relaxed.gpu.global.b32", "st.relaxed.gpu.global.b32"]),
        (512, "relaxed", "relaxed", ["ld.relaxed.gpu.global.v4.b32", "st.relaxed.gpu.global.v4.b32"]),
        (
            1024,
            "acquire",
            "release",
            [
                "ld.relaxed.gpu.global.v4.b32",
                "fence.acq_rel.gpu",
                "bar.sync",
                "fence.acq_rel.gpu",
                "st.relaxed.gpu.global.v4.b32",
            ],
        ),
    ],
)
def test_one_instruction_orders_itself_and_several_have_one_fence(
    n: int, load: str, store: str, expected: list[str]
) -> None:
    assert opcodes(n, load, store) == expected


def test_programs_of_several_ctas_read_write_and_wait() -> None:
    x, y = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    fresh(copies)[(1,)](x, y, 256, BLOCK=256, SEM_OF_LOAD="acquire", SEM_OF_STORE="release", num_ctas=2, arch="sm90")
    np.testing.assert_array_equal(y[:255], x[:255])
    found = np.full(130, 9, np.int8)
    x[:] = 7
    fresh(polls)[(1,)](x, found, 100, BLOCK=128, num_ctas=2, arch="sm90")
    assert found.tolist() == [1] * 130


TEXT = """\
module {
  tt.func public @k(%p: !tt.ptr<i32>, %m: i1, %t: i64) {
    %v = tt.atomic_load acquire, gpu, %p, %m : (!tt.ptr<i32>, i1) -> i32
    tt.atomic_store release, sys, %p, %v, %m : !tt.ptr<i32>
    %a = tt.atomic_poll acquire, gpu, %p, %v : !tt.ptr<i32>, i32 -> i1
    %b = tt.atomic_poll relaxed, cta, %p, %v timeout %t : !tt.ptr<i32>, i32 -> i1
    tt.return
  }
}
"""


def test_their_text_is_that_of_triton_3_9() -> None:
    module = parse_module(TEXT)
    module.verify()
    printed = print_module(module)
    assert [line.split("tt.")[1] for line in printed.splitlines() if "atomic" in line] == [
        re.sub(
            r"%(\w)",
            lambda found: {"p": "%arg0", "m": "%arg1", "t": "%arg2", "v": "%0"}[found[1]],
            line.split("tt.")[1],
        )
        for line in TEXT.splitlines()
        if "atomic" in line
    ]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("tl.atomic_load(x, sem='release')", "Memory semantic release not supported"),
        ("tl.atomic_store(x, 1, sem='acquire')", "Memory semantic acquire not supported"),
        ("tl.atomic_load(3)", "Unsupported ptr type 3"),
        ("tl.atomic_load(x, mask=1)", "Mask must have boolean scalar type"),
        ("tl.atomic_store(x, tl.arange(0, 4))", "Value argument cannot be block type"),
        ("tl.atomic_poll(x.to(tl.pointer_type(tl.float32)), 1)", "only supports integer elements"),
        ("tl.atomic_poll(x, 1, timeout_ns=-1)", "timeout_ns must be non-negative"),
        ("tl.atomic_poll(x, 1, timeout_ns=1.5)", "timeout_ns must be a scalar integer"),
    ],
)
def test_wrong_uses_are_refused(body: str, reason: str, tmp_path: Any) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(
        f"import minitriton as triton\nimport minitriton.language as tl\n@triton.jit\ndef k(x):\n    {body}\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    with pytest.raises(MinitritonError, match=re.escape(reason)):
        scope["k"].warmup(np.zeros(4, np.int32), grid=(1,))


def test_a_constant_pointer_is_not_written() -> None:
    @triton.jit
    def k(x: tl.const):
        tl.atomic_store(x, tl.atomic_load(x))

    with pytest.raises(MinitritonError, match="Cannot store to a constant pointer"):
        k.warmup(np.zeros(4, np.int32), grid=(1,))
