"""What a kernel's text computes while it is compiled is bounded: an error at the line, not hours or all memory."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from minitriton.commands.kernel_files import load_kernel
from minitriton.dialects.context import make_context
from minitriton.errors import MinitritonError
from minitriton.pipeline.ast_source import ASTSource
from minitriton.target import CUDAOptions, GPUTarget

TARGET = GPUTarget("cuda", 90, 32)


def compiled(tmp_path: Path, line: str, *before: str) -> str:
    """The IR of a kernel that stores `x`, which `line` sets."""
    body = "".join(f"    {one}\n" for one in (*before, line, "tl.store(p, x)"))
    (tmp_path / "k.py").write_text(f"import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(p):\n{body}")
    source = ASTSource(load_kernel(f"{tmp_path / 'k.py'}:k"), {"p": "*i64"}, {})
    return str(source.make_ir(TARGET, CUDAOptions.for_target(TARGET), make_context()))


@pytest.mark.parametrize(
    "line",
    [
        "x = 9**9**9", "x = 1 << 10**10", "x = 3 ** (10**15)", "x = (1 << 60000) * (1 << 60000)", "x = 'a' * 10**12", "x = 10**12 * 'a'",
        "x = (1,) * 10**10", "x = [1] * 10**10", "x = len('%1000000000d' % 1)", "x = f'{1:1000000000}'", "x = f'{1:.{10**9}f}'",
        "x = 1 << 60000", "x = 1 << (1 << 70)", "x = 2.0 ** 10**10", "x = 1 % 0", "x = 1 << -1",
    ],
)  # fmt: skip
def test_a_huge_value_is_an_error_at_its_line(tmp_path: Path, line: str) -> None:
    start = time.process_time()
    with pytest.raises(MinitritonError, match=r"k\.py:[67]:\d+: error") as caught:
        compiled(tmp_path, line)
    assert time.process_time() - start < 3 and len(str(caught.value)) < 3000


@pytest.mark.parametrize(
    "loop",
    [
        ("x = 1", "for i in tl.static_range(10**12): x = x + 0"), ("x = 1", "for i in tl.static_range(1 << 200): x = x + 0"),
        ("x = 1", "for i in tl.static_range(10**9, 0, -1): x = x + 0"),         ("s = (1, 2)", "for i in tl.static_range(60): s = s + s", "x = 1"),
    ],
)  # fmt: skip
def test_what_grows_in_an_unrolled_loop_is_an_error_at_its_line(tmp_path: Path, loop: tuple[str, ...]) -> None:
    with pytest.raises(MinitritonError, match=r"k\.py:7:\d+: error"):
        compiled(tmp_path, loop[-1], *loop[:-1])


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("x = 3**4", 81), ("x = 1 << 62", 1 << 62), ("x = (2**64 >> 60) - 1", 15), ("x = 7 % 4", 3), ("x = len('ab' * 3 + 'c')", 7),
        ("x = ((1, 2) * 2)[3]", 2), ("x = ((1,) + (5,))[1]", 5), ("x = 2**60000 % 7", 2**60000 % 7), ("x = len(f'{1:04}' + '%3d' % 1)", 7),
    ],
)  # fmt: skip
def test_what_kernels_compute_stays(tmp_path: Path, line: str, value: int) -> None:
    assert f"constant {value} :" in compiled(tmp_path, line)
