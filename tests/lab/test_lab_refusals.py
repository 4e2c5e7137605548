"""What the laboratory refuses before the work begins, and what an interrupted command says."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import lab
from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.host.subcommands import write_output
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.store import Store

KERNEL = "running_product"


@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sweep", KERNEL, "--best", "nonsense"], "no metric is called 'nonsense'"),
        (["sweep", KERNEL, "--compile-only", "--best", "sectors"], "not measured without running"),
        (["sweep", KERNEL, "--limit", "0"], "0 s for a configuration"),
        (["sweep", KERNEL, "--count", "-1"], "cannot sweep -1 configurations"),
        (["sweep", KERNEL, "--vary", "no-such-pass{option}=1"], "unknown pass 'no-such-pass'"),
        (["sweep", KERNEL, "--vary", "cse{option}=1"], "lacks option 'option'"),
        (["sweep", KERNEL, "--insert", "no-such-pass"], "unknown pass 'no-such-pass'"),
        (["sweep", KERNEL, "--space", "order", "--llvm"], "--llvm would say more"),
        (["sweep", KERNEL, "--space", "order", "--illegal"], "--illegal would say more"),
        (["search", KERNEL, "--budget", "0"], "cannot search 0 configurations"),
        (["search", KERNEL, "--patience", "0"], "patience of 0"),
        (["search", KERNEL, "--prune", "-1"], "-1 times the best"),
        (["search", KERNEL, "--objective", "cycles", "--prune", "2"], "only what is timed is pruned"),
        (["measure", "nothing.db", "--metrics", "cycles"], "no such store"),
        (["report", "nothing.db", "--html", "page.html"], "no such store"),
        (["report", "nothing.db", "--html", "no/such/folder/page.html"], "is missing"),
        (["report", "nothing.db", "--html", "."], "it is a folder"),
        (["bisect", KERNEL, "--pipeline", "inline", "--kernel-to", "no/such/k.ttir"], "is missing"),
    ],
)
def test_what_cannot_be_is_said_first(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    heard = capsys.readouterr()
    assert said in heard.err
    assert not heard.out
    assert not list(tmp_path.iterdir())


def test_best_is_measured_without_being_asked_for_twice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", KERNEL, "--count", "2", "--best", "cycles"]) == 0
    assert f"{KERNEL}: cycles" in capsys.readouterr().out


def test_a_database_of_another_program_or_version_stays_as_it_is(tmp_path: Path) -> None:
    for name, schema, said in (
        ("other.db", "CREATE TABLE evaluations (x INTEGER)", "another program"),
        ("old.db", "CREATE TABLE store (version INTEGER); INSERT INTO store VALUES (1)", "version 1"),
    ):
        with sqlite3.connect(tmp_path / name) as database:
            database.executescript(schema)
        before = (tmp_path / name).read_bytes()
        with pytest.raises(MinitritonError, match=said):
            lab.sweep(KERNEL, count=1, store=tmp_path / name)
        assert (tmp_path / name).read_bytes() == before


def test_a_damaged_store_is_said(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = Store(path, "one")
    store.add([Evaluation("k", f"step{n} " * 90, Class.RIGHT, program="x") for n in range(300)])
    store.close()
    content = bytearray(path.read_bytes())
    content[8192:] = b"\x5a" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(MinitritonError, match=r"cannot use the store .*s\.db"):
        list(Store(path, "one").records())


def test_points_of_compilers_that_are_not_there_are_said_with_those_that_are(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    for compiler in ("later", "earlier"):
        Store(path, compiler).add([Evaluation("k", "p", Class.RIGHT, program="x")])
    Store(path, "without configurations").add_kernel("k", "", "")
    assert Store.of_file(path, None).compiler == "earlier"
    with pytest.raises(MinitritonError, match="lacks configurations of compiler mine") as raised:
        Store.of_file(path, "mine")
    assert "later, earlier" in str(raised.value)
    with pytest.raises(MinitritonError, match="lacks kernel 'q'"):
        lab.measure(path, ["registers"], kernels=["q"])


def test_one_kernel_one_metric_and_one_line_need_no_list() -> None:
    line = lab.sweep(KERNEL, count=1).records[0].pipeline
    table = lab.sweep(KERNEL, line, metrics="cycles")
    assert [(r.kernel, r.pipeline, r.result) for r in table.records] == [(KERNEL, line, Class.RIGHT)]
    assert "cycles" in table.records[0].metrics
    with pytest.raises(MinitritonError, match="no record has the metric 'microseconds'"):
        table.pareto_front("cycles", "microseconds")


def test_passes_are_worth_registers_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablate", KERNEL, "--metric", "registers"]) == 0
    assert KERNEL in capsys.readouterr().out


def test_kernels_of_ones_own_are_taken_out_of_decorators_and_others_are_named() -> None:
    x, out = np.arange(500, dtype=np.float32), np.zeros(500, np.float32)
    tuned = triton.autotune(configs=[triton.Config({}, num_warps=4)], key=["n"])(doubled)
    task = lab.TuningTask.of_call(tuned, [x, out, 500], (4,), BLOCK=128)
    assert lab.search(task, budget=2).first.result is Class.RIGHT
    with pytest.raises(MinitritonError, match="not a kernel of minitriton's, but a builtins"):
        lab.TuningTask.of_call(lambda x: x, [x], (1,))
    with pytest.raises(MinitritonError, match="not a TuningTask"):
        lab.sweep([task])


def test_a_page_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(MinitritonError, match="cannot write"):
        write_output(tmp_path, "x")


def test_ctrl_c_ends_a_sweep_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    command = [sys.executable, "-m", "minitriton", "sweep", KERNEL, "--count", "1000", "--store", str(path)]
    sweep = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        while sweep.poll() is None and not (path.exists() and _count_evaluations(path)):
            time.sleep(0.05)
        assert _count_evaluations(path)
        os.killpg(sweep.pid, signal.SIGINT)
        said = sweep.communicate()[1]
    finally:
        sweep.kill()
    assert sweep.returncode == 130
    assert said.strip() == f"stopped: {path} keeps what was evaluated, and the same command goes on"


def _count_evaluations(path: Path) -> int:
    try:
        return sqlite3.connect(path).execute("SELECT count(*) FROM evaluations").fetchone()[0]
    except sqlite3.Error:
        return 0


def test_an_address_is_no_client() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(MinitritonError, match="is not a client of a cluster") as error:
        lab.sweep("running_sums", count=1, client="tcp://127.0.0.1:8786")
    assert "distributed.Client(" in str(error.value)


def test_a_cluster_without_dask_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MinitritonError, match="a cluster of Dask needs distributed"):
        lab.sweep("running_sums", count=1, client=object())


def test_constants_that_cannot_vary_are_an_error_although_one_value_is_the_kernels_own(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import triton\nimport triton.language as tl\n@triton.jit\ndef fills(out, BLOCK: tl.constexpr):\n"
        "    tl.store(out + tl.arange(0, BLOCK), 1.0)\n"
    )
    reference = lab.Reference(f"{tmp_path}/own.py:fills", signature="*fp32:16,BLOCK=128")
    with pytest.raises(MinitritonError, match="has one grid, whatever its constants are") as error:
        lab.sweep(reference, lab.Space(vary={"BLOCK": (128, 64)}), count=2)
    assert "--corpus" in str(error.value)


def test_ir_has_no_launch_to_be_swept(tmp_path: Path) -> None:
    (tmp_path / "a.ttir").write_text("module {}")
    with pytest.raises(MinitritonError, match="is IR: nothing says what it is launched with"):
        lab.sweep(str(tmp_path / "a.ttir"), count=1)


def test_a_sweep_of_which_all_is_refused_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "big.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef big(a, o, N: tl.constexpr):\n"
        "    i = tl.arange(0, N)\n    x = tl.load(a + i[:, None] * N + i[None, :])\n"
        "    tl.store(o + i[:, None] * N + i[None, :], tl.dot(x, x))\n"
    )
    store = tmp_path / "s.db"
    command = ["sweep", f"{path}:big", "--signature", "*fp16:16,*fp32:16,N=512", "--compile-only"]
    assert main([*command, "--count", "0", "--store", str(store)]) == 1
    assert "nothing was evaluated: all of 1 configurations were refused" in capsys.readouterr().err
    assert main(["measure", str(store), "--metrics", "cycles"]) == 1
    assert "holds no program to measure" in capsys.readouterr().err
