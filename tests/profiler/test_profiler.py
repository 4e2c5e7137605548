"""Profiles of launches and scopes, on the emulator's clock."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
import minitriton.profiler as proton
from minitriton.errors import MinitritonError


def _facts(grid, kernel, args):
    return {"name": f"add {args['n']}", "flops32": args["n"], "bytes": 12 * args["n"]}


@triton.jit(launch_metadata=_facts)
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


def _launch(n: int) -> None:
    x = np.ones(n, np.float32)
    add[(triton.cdiv(n, 128),)](x, x, np.empty_like(x), n, BLOCK=128)


def test_launches_count_under_their_scope_with_what_the_kernel_says_of_them(tmp_path, capsys):
    session = proton.start(str(tmp_path / "run"), hook="triton")
    with proton.scope("outer", {"rounds": 1}):
        for _ in range(3):
            _launch(256)
        with proton.cpu_timed_scope("inner"):
            _launch(128)
    proton.deactivate(session)
    _launch(512)
    proton.finalize(session)
    tree, metrics = proton.viewer.parse(["time/us", "gflop32/s", "count", "time/%"], str(tmp_path / "run.hatchet"))
    outer = tree.children["outer"]
    assert outer.metrics == {"rounds": 1}
    assert set(outer.children) == {"add 256", "inner"}
    assert outer.children["add 256"].metrics["count"] == 3
    assert outer.children["add 256"].metrics["flops32"] == 768
    assert outer.children["inner"].metrics["cpu_time (ns)"] > 0
    assert tree.total("bytes") == 12 * (768 + 128)
    assert tree.total("time (ns)") > 0
    proton.viewer.print_tree(tree, metrics, print_sorted=True)
    printed = capsys.readouterr().out
    assert "├─ add 256" in printed
    assert "Sorted kernels by metric time/us" in printed


def test_without_the_hook_a_launch_has_the_kernels_name(tmp_path):
    proton.start(str(tmp_path / "run"))
    _launch(128)
    proton.finalize()
    tree, _ = proton.viewer.parse(["count"], str(tmp_path / "run.hatchet"))
    assert list(tree.children) == ["add"]


def test_a_decorated_function_is_a_session(tmp_path):
    @proton.profile(name=str(tmp_path / "run"))
    def run():
        with proton.scope("nothing of ours"):
            pass

    run()
    tree, _ = proton.viewer.parse(["count"], str(tmp_path / "run.hatchet"), include="nothing.*")
    assert tree.children["nothing of ours"].metrics["count"] == 1


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(MinitritonError, match="context='python' is not supported"):
        proton.start(context="python")
    with pytest.raises(MinitritonError, match="unknown session 7"):
        proton.activate(7)
    with pytest.raises(MinitritonError, match="no scope is open"):
        proton.exit_scope()
    (tmp_path / "x.hatchet").write_text("{}")
    with pytest.raises(MinitritonError, match="cannot read"):
        proton.viewer.parse(["count"], str(tmp_path / "x.hatchet"))
    proton.start(str(tmp_path / "run"))
    _launch(128)
    proton.finalize()
    with pytest.raises(MinitritonError, match=r"lacks tflop16/s"):
        proton.viewer.parse(["tflop16/s"], str(tmp_path / "run.hatchet"))
    with pytest.raises(MinitritonError, match="no metric is called 'time/days'"):
        proton.viewer.parse(["time/days"], str(tmp_path / "run.hatchet"))
