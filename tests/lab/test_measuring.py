"""Metrics of configurations: machine code, estimates and times, measured of each different program once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from minitriton import lab
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping import metrics
from minitriton.lab.sweeping.configuration import KernelProgram
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.cost_model import parts
from minitriton.lab.sweeping.measuring import measure
from minitriton.lab.sweeping.store import Store
from minitriton.runtime.driver import has_gpu
from minitriton.target import CUDAOptions

KERNEL = "running_sums"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few configurations of one kernel, evaluated and not measured."""
    path = tmp_path_factory.mktemp("store") / "s.db"
    lab.sweep([KERNEL], lab.Space(vary={"num_warps": (1, 4)}), count=6, seed=2, store=path)
    return path


def test_what_a_store_holds_is_measured_later_once(store: Path) -> None:
    table = measure(store, ["registers", "cycles"])
    assert all({"registers", "occupancy", "cycles", "ttgir_seconds"} <= r.all_metrics.keys() for r in table.records)
    assert all(0 < r.metrics["occupancy"] <= 1 and r.metrics["registers"] >= 8 for r in table.records)
    seconds = {r.program: r.metrics["cubin_seconds"] for r in table.records}
    again = measure(store, ["registers"])
    assert {r.program: r.metrics["cubin_seconds"] for r in again.records} == seconds


@pytest.mark.skipif(has_gpu(), reason="there is a GPU")
def test_a_time_without_a_gpu_is_refused_with_what_to_do(store: Path) -> None:
    for ask in (
        lambda: measure(store, ["microseconds"]),
        lambda: lab.sweep([KERNEL], count=1, metrics=["time"]),
        lambda: lab.search(KERNEL, objective="microseconds", budget=2),
    ):
        with pytest.raises(MinitritonError, match="need a GPU"):
            ask()


def test_an_unknown_metric_is_named_with_the_closest() -> None:
    with pytest.raises(MinitritonError, match="registrs") as raised:
        lab.sweep([KERNEL], count=1, metrics=["registrs"])
    assert "'registers'" in str(raised.value)


def test_what_needs_a_run_is_refused_without_one() -> None:
    with pytest.raises(MinitritonError, match="without running"):
        lab.sweep([KERNEL], count=1, metrics=["cycles"], run=False)


def test_instructions_are_counted_by_kind() -> None:
    kinds = {
        "fma.rn.f32": "float", "add.s32": "integer", "ex2.approx.ftz.f32": "special", "ld.global.v4.b32": "global",
        "st.shared.b32": "shared", "shfl.sync.bfly.b32": "shuffle", "cp.async.cg.shared.global": "async",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": "tensor", "bar.sync": "control", "cvt.rn.f16.f32": "convert",
        "atom.global.add.f32": "atomic", "fma.rn.f64": "double", "ldmatrix.sync.aligned.m8n8.x4.shared.b16": "shared",
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16": "tensor", "ld.param.b64": "integer",
    }  # fmt: skip
    assert {opcode: metrics.category(opcode) for opcode in kinds} == kinds
    assert metrics.tensor_flops("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == 2 * 16 * 8 * 16
    assert metrics.tensor_flops("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16") == 2 * 64 * 64 * 16 // 4


def test_more_lines_and_fewer_warps_cost_more_cycles() -> None:
    record = lab.sweep(["bench_add"], count=1, metrics=["cycles"]).records[0]
    more = {**record.metrics, "lines": 4 * record.metrics["lines"]}
    assert parts(more).near > 3 * parts(record.metrics).near
    assert parts(more).total > parts(record.metrics).total == record.metrics["cycles"]
    assert "memory" in parts(record.metrics).text()
    worse = {**record.metrics, "occupancy": record.metrics["occupancy"] / 8}
    assert parts(worse).waiting > parts(record.metrics).waiting


def test_what_is_read_and_how_is_counted_apart_from_what_is_stored() -> None:
    whole, halves = (
        {r.kernel: r.metrics for r in lab.sweep([k], count=1).records}[k]
        for k in ("bench_transpose", "bench_linear_relu")
    )
    assert whole["read_bytes"] == whole["global_bytes"] / 2 == 32 * whole["read_sectors"]
    assert whole["partial_bytes"] == 0 and whole["turns"] >= 1
    assert halves["read_lines"] <= halves["lines"] and halves["turns"] > 1


def test_a_table_goes_through_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    table = lab.sweep([KERNEL], count=3, metrics=["registers"])
    table.to_parquet(tmp_path / "t.parquet")
    again = lab.Table.read_parquet(tmp_path / "t.parquet")
    assert [dataclasses.asdict(r) for r in again.records] == [dataclasses.asdict(r) for r in table.records]
    assert set(table.frame().columns) >= {"kernel", "class", "registers", "instructions", "ptx_seconds"}


def test_the_front_has_what_nothing_beats() -> None:
    def record(pipeline: str, a: float, b: float, result: Class = Class.RIGHT) -> Evaluation:
        return Evaluation("k", pipeline, result, metrics={"registers": a, "occupancy": b})

    table = lab.Table(
        [record("p", 10, 0.5), record("q", 20, 1.0), record("r", 20, 0.5), record("s", 1, 1, Class.WRONG)]
    )
    assert [r.pipeline for r in table.pareto_front("registers", "occupancy")] == ["p", "q"]


def test_programs_come_back_from_the_store(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.db", "one")
    options = CUDAOptions(num_warps=8, maxnreg=64)
    program = KernelProgram("k", "d", "the ptx", 90, options, (("BLOCK", 64), ("num_warps", 8)), 1024, 0, "")
    store.add([Evaluation("k", "p", Class.RIGHT, program="d")], [program])
    assert store.programs("k", ["d", "unknown"]) == [program]
