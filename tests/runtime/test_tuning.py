"""Tile sizes from facts: roles of constants, what fits, the order by the model, and what a launch makes of it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton
import minitriton.language as tl
from minitriton import Config, MockTensor
from minitriton.analysis.tile_roles import Size
from minitriton.commands import tune
from minitriton.commands.cli import main
from minitriton.lab import corpus
from minitriton.pipeline.ast_source import ASTSource
from minitriton.runtime.compiling import compile
from minitriton.runtime.cuda_driver import DriverError
from minitriton.runtime.errors import AutotunerError
from minitriton.runtime.tuning import Ranking, candidates
from minitriton.runtime.tuning.measured import Measured
from minitriton.runtime.tuning.model import Profile, Weights
from minitriton.runtime.tuning.ranking import rank
from minitriton.runtime.tuning.resources import resources
from minitriton.target import GPUTarget
from minitriton.target.architectures import architecture_named, architecture_of, speeds_of
from minitriton_kernels.cases import load_kernels

SM90, SM80 = GPUTarget("cuda", 90), GPUTarget("cuda", 80)


@minitriton.jit
def matmul(
    a, b, c, M, N, K, stride_am, stride_bk, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr = "",
):  # fmt: skip
    pid, down, across = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    row, column = first + pid % (GROUP * across) % height, pid % (GROUP * across) // height
    rows, columns, inner = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_ptrs = a + (rows % M)[:, None] * stride_am + inner[None, :]
    b_ptrs = b + inner[:, None] * stride_bk + (columns % N)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        x = tl.load(a_ptrs, mask=inner[None, :] < K - k * BK, other=0.0)
        total = tl.dot(x, tl.load(b_ptrs, mask=inner[:, None] < K - k * BK, other=0.0), total)
        a_ptrs += BK
        b_ptrs += BK * stride_bk
    if ACTIVATION == "relu":
        total = tl.maximum(total, 0.0)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * stride_cm + columns[None, :], total.to(c.dtype.element_ty), mask=mask)


@minitriton.jit
def split_matmul(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr, STEPS: tl.constexpr
):
    tile = tl.program_id(0)
    rows, columns = tile // (N // BN) * BM + tl.arange(0, BM), tile % (N // BN) * BN + tl.arange(0, BN)
    inner = tl.program_id(1) * BK + tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK * SPLIT), num_stages=STEPS):
        at = inner + k * BK * SPLIT
        x = tl.load(a + rows[:, None] * K + at[None, :])
        total = tl.dot(x, tl.load(b + at[:, None] * N + columns[None, :]), total)
    tl.atomic_add(c + rows[:, None] * N + columns[None, :], total, mask=rows[:, None] < M)


@minitriton.jit
def copied_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    across = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * across, PROGRAMS):
        row, column = tile // across * BM, tile % across * BN
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            total = tl.dot(a_desc.load([row, k * BK]), b_desc.load([k * BK, column]), total)
        c_desc.store([row, column], total.to(tl.float16))


@minitriton.jit
def softmax(x, out, stride, n_cols, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * stride + columns, columns < n_cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + tl.program_id(0) * stride + columns, e / tl.sum(e, 0), columns < n_cols)


@minitriton.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * factor, at < n)


@minitriton.jit
def no_tiles(x, out, FLAG: tl.constexpr):
    tl.store(out, tl.load(x) + (1 if FLAG else 2))


def ranking_of(m: int, n: int, k: int, *, target: GPUTarget = SM90, kind: str = "fp16", **constants: Any) -> Ranking:
    a, b, c = MockTensor(kind, [m, k]), MockTensor(kind, [k, n]), MockTensor(kind, [m, n])
    return candidates(matmul, (a, b, c, m, n, k, k, n, n), target=target, **constants)


def test_roles_of_a_matmul() -> None:
    roles = ranking_of(1024, 2048, 4096).problem.roles
    told = {name: (t.of_dots, t.extent, t.is_split_by_programs, t.loops) for name, t in roles.tiles.items()}
    assert told == {
        "BM": (("M",), "M", True, ()), "BN": (("N",), "N", True, ()), "BK": (("K",), "K", False, (0,))
    }  # fmt: skip
    assert roles.group == ("GROUP",) and not roles.split_k and not roles.programs
    assert all(tile.is_guarded for tile in roles.tiles.values())
    (dot,) = roles.dots
    assert (dot.m, dot.k) == (Size(1.0, ("BM",)), Size(1.0, ("BK",)))
    assert dot.a is not None and (dot.a.axis, dot.a.width) == (1, 8)


def test_roles_of_a_split_matmul() -> None:
    arrays = MockTensor("fp16", [512, 512]), MockTensor("fp16", [512, 512]), MockTensor("fp32", [512, 512])
    ranking = candidates(split_matmul, (*arrays, 256, 256, 16384))
    roles = ranking.problem.roles
    assert (set(roles.tiles), roles.split_k, roles.stages) == ({"BM", "BN", "BK"}, ("SPLIT",), ("STEPS",))
    assert not roles.tiles["BM"].is_guarded
    assert ranking[0].config.kwargs["SPLIT"] >= 4


def test_a_tile_that_covers_an_axis_is_as_long_as_the_axis() -> None:
    ranking = candidates(softmax, (MockTensor("fp32"), MockTensor("fp32"), 1000, 1000))
    assert ranking.problem.roles.tiles["BLOCK"].covers_axis and ranking.problem.roles.tiles["BLOCK"].is_reduced
    assert {candidate.config.kwargs["BLOCK"] for candidate in ranking} == {1024}


def test_a_tile_without_a_mask_divides_its_axis() -> None:
    arrays = MockTensor("fp16", [512, 512]), MockTensor("fp16", [512, 512]), MockTensor("fp32", [512, 512])
    ranking = candidates(split_matmul, (*arrays, 512, 96, 512))
    assert {candidate.config.kwargs["BN"] for candidate in ranking} == {16, 32}
    assert any("not a multiple of BN=64" in misfit.text for _, misfit in ranking.dropped)


@pytest.mark.parametrize(
    ("target", "kind", "tile", "warps", "stages"),
    [
        (SM90, "fp16", (128, 128, 64), 8, 3), (SM90, "fp16", (64, 256, 32), 4, 1), (SM90, "fp32", (64, 128, 16), 4, 4),
        (SM90, "fp16", (16, 64, 64), 4, 3), (SM80, "fp16", (128, 128, 32), 8, 3), (SM80, "fp16", (32, 32, 32), 4, 2),
    ],
)  # fmt: skip
def test_shared_memory_is_what_a_compile_takes(
    target: GPUTarget, kind: str, tile: tuple[int, int, int], warps: int, stages: int
) -> None:
    problem = ranking_of(4096, 4096, 4096, target=target, kind=kind).problem
    values = {**dict(zip(("BM", "BN", "BK"), tile, strict=True)), "GROUP": 8}
    expected = resources(
        problem.roles, {**problem.given, **values}, warps, stages, architecture_named(target.ttg_target)
    )
    source = problem.source_of(values)
    assert isinstance(source, ASTSource)
    options = {"num_warps": warps, "num_stages": stages, "describe_tiles": True}  # as launches have it
    kernel = compile(source, target, options, assemble=False)
    assert expected.shared_bytes == kernel.metadata.shared


@pytest.mark.parametrize(("warps", "stages"), [(4, 1), (8, 3)])
def test_roles_and_shared_memory_of_tensor_copies(warps: int, stages: int) -> None:
    array = MockTensor("fp16", [1024, 1024])
    problem = candidates(copied_matmul, (array, array, array, 1024, 1024, 1024), target=SM90).problem
    assert {name: tile.extent for name, tile in problem.roles.tiles.items()} == {"BM": "M", "BN": "N", "BK": "K"}
    assert problem.roles.programs == ("PROGRAMS",) and problem.roles.loops[0].is_persistent
    values = {"BM": 128, "BN": 64, "BK": 64, "PROGRAMS": 132}
    kernel = compile(problem.source_of(values), SM90, {"num_warps": warps, "num_stages": stages}, assemble=False)
    assert resources(problem.roles, values, warps, stages, architecture_of(90)).shared_bytes == kernel.metadata.shared


@pytest.mark.parametrize(("block", "warps"), [(1024, 4), (4096, 16)])
def test_shared_memory_of_reductions(block: int, warps: int) -> None:
    problem = candidates(softmax, (MockTensor("fp32"), MockTensor("fp32"), block, block)).problem
    kernel = compile(problem.source_of({"BLOCK": block}), SM90, {"num_warps": warps}, assemble=False)
    assert (
        resources(problem.roles, {"BLOCK": block}, warps, 3, architecture_of(90)).shared_bytes == kernel.metadata.shared
    )


@pytest.mark.parametrize(
    ("rows", "columns", "warps", "stages", "taken"),
    [
        (64, 64, 4, 2, 65560),
        (64, 64, 4, 3, 98352),
        (128, 64, 4, 3, 131128),
        (128, 64, 8, 3, 131128),
        (256, 64, 8, 4, 196672),
    ],
)
def test_shared_memory_of_dots_that_feed_each_other(
    rows: int, columns: int, warps: int, stages: int, taken: int
) -> None:
    """Attention, as launches on an H200 took it: rings of dots that overlap are shorter, their arrays of barriers lie apart."""
    q = MockTensor("fp16", [64 * 2048, 128])
    kernel = load_kernels("matrix", "minitriton").causal_attention
    problem = candidates(kernel, (q, q, q, q, 0.1), LENGTH=2048, WIDTH=128, target=SM90).problem
    values = {**problem.given, "BM": rows, "BN": columns}
    assert resources(problem.roles, values, warps, stages, architecture_of(90)).shared_bytes == taken


def test_elements_of_unknown_neighbours_cost_a_line_each() -> None:
    """Columns modulo an odd N are not known to be neighbours: the loads of B go along K, one line an element, and tall tiles read fewer of them."""
    odd, even = ranking_of(2048, 1001, 512, kind="fp32"), ranking_of(2048, 1024, 512, kind="fp32")
    scattered = [[w.is_scattered for w in r.problem.roles.work if w.kind == "load"] for r in (odd, even)]
    assert scattered == [[False, True], [False, False]]
    tile = odd[0].config.kwargs
    assert tile["BM"] > tile["BN"] and odd[0].estimate.parts["lines"] > 4 * even[0].estimate.parts["lines"]


def test_an_operand_that_goes_through_registers_costs_its_reads() -> None:
    """B of tf32, row by row, is read into registers: a tile with few columns reads less of it."""
    tall, wide = (
        next(
            c
            for c in ranking_of(4096, 4096, 2048, kind="fp32")
            if c.config.kwargs | {"GROUP": 8} == tile and c.config.num_stages == 4
        )
        for tile in ({"BM": 256, "BN": 128, "BK": 32, "GROUP": 8}, {"BM": 128, "BN": 256, "BK": 32, "GROUP": 8})
    )
    assert tall.microseconds < wide.microseconds and tall.estimate.parts["shared"] < wide.estimate.parts["shared"]


def test_more_registers_than_there_are_cost_spills() -> None:
    spilling, fitting = (
        next(
            c for c in ranking_of(999, 1001, 1003, kind="fp32")
            if c.config.kwargs | {"GROUP": 8} == {"BM": 256, "BN": 32, "BK": 64, "GROUP": 8} and c.config.num_stages == 3 and c.config.num_warps == warps
        )
        for warps in (4, 8)
    )  # fmt: skip
    assert spilling.resources.registers > 255 and spilling.estimate.parts["spill"] > 0
    assert "spill" not in fitting.estimate.parts and fitting.microseconds < spilling.microseconds
    left = spilling.resources.registers - 255
    assert f"255 registers and {left} spilled" in spilling.why and " spilled" not in fitting.why
    said = spilling.as_json()
    assert said["registers"] == 255 and said["registers_spilled"] == left


def test_no_configuration_is_said_to_have_more_registers_than_a_thread_can_have() -> None:
    for candidate in ranking_of(999, 1001, 1003, kind="fp32"):
        threads = candidate.resources.threads
        assert candidate.as_json()["registers"] <= min(255, 65536 // threads), candidate


def test_what_does_not_fit_says_by_how_much() -> None:
    ranking = ranking_of(4096, 4096, 4096)
    found = {m.what: m for _, m in ranking.dropped}
    assert found["shared memory"].needed > found["shared memory"].limit == 232448
    assert found["registers"].limit == 255
    assert "bytes of shared memory, of 232448" in ranking.explain()


def test_large_matmuls_take_large_tiles_and_few_rows_small_ones() -> None:
    large, few = ranking_of(8192, 8192, 8192)[0].config.kwargs, ranking_of(16, 8192, 8192)[0].config.kwargs
    assert large["BM"] * large["BN"] >= 128 * 128
    assert few["BM"] == 16 and few["BN"] <= 128


def test_a_shape_takes_less_than_50_ms() -> None:
    """The least of three, for garbage of other tests may be collected in between."""
    ranking_of(4096, 4096, 4096)
    taken: list[float] = []
    for columns in (2048, 3072, 5120):
        start = time.process_time()
        ranking_of(4096, columns, 8192)
        taken.append(time.process_time() - start)
    assert min(taken) < 0.05


def test_given_constants_stay() -> None:
    ranking = ranking_of(4096, 4096, 4096, BK=32, ACTIVATION="relu")
    assert all("BK" not in candidate.config.kwargs for candidate in ranking)
    assert ranking.problem.given["BK"] == 32


def test_explain_as_json() -> None:
    found = json.loads(ranking_of(4096, 4096, 4096).explain(as_json=True, most=3))
    assert len(found["candidates"]) == 3
    assert {"microseconds", "shared_bytes", "registers", "waves", "limit", "parts"} <= set(found["candidates"][0])
    assert {"config", "what", "needed", "limit", "why"} == set(found["dropped"][0])
    first = found["candidates"][0]
    assert first["is_described"] and "waves of" in first["why"] and f"{first['registers']} registers" in first["why"]
    assert found["limits"]["bytes_of_shared_memory"] == 232448 and found["location"].startswith(f"{__file__}:")


ROWS = "minitriton_kernels/attention.py:row_products"


@pytest.mark.parametrize(
    ("words", "searched", "said"),
    [
        ([ROWS, "--size", "length=4096"], {"BM"}, "D: how long an axis is in memory: stays 32"),
        ([ROWS, "--size", "length=4096,D=128"], {"BM"}, "BM: an axis"),
        ([ROWS, "--signature", "*fp16,*fp16,*fp32,i32,D=64"], {"BM"}, "BM: an axis"),
        (["bench_attention"], {"M", "N"}, "D: how long an axis is in memory: stays 64"),
    ],
)
def test_how_long_an_axis_is_in_memory_is_not_searched(
    words: list[str], searched: set[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", *words, "--most", "1"]) == 0
    text = capsys.readouterr().out
    first = text[text.index("  1. ") :].partition(", num_warps")[0]
    assert said in text and set(re.findall(r"(\w+): \d", first)) == searched


@pytest.mark.parametrize("name", ["bench_sort", "bench_rotary", "bench_bias_relu", "held_row_products"])
def test_what_a_kernel_names_as_worth_trying_is_searched(name: str) -> None:
    task = corpus.task(name)
    assert isinstance(task.source, ASTSource)
    assert {one for one in task.choices if one in task.constants} == set(
        tune.ranking_of(task.source, {}, SM90).problem.roles.free
    )


COMMAND = ["tune", "minitriton_kernels/matmul.py:matmul", "--size", "m=512,n=512,k=512"]


def test_the_command_explains_in_text_json_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "tiles.html"
    assert main([*COMMAND, "--most", "2", "--html", str(page)]) == 0
    said = capsys.readouterr().out
    assert "BM: M of a dot" in said and "  2. BM: " in said and "  3. " not in said
    assert (
        "configurations fit, " in said
        and "232448 bytes of shared memory" in said
        and "dropped for shared memory: " in said
    )
    assert main([*COMMAND, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    text = page.read_text()
    assert text.count("<tr>") == found["kept"] + len(found["dropped"]) + 2
    assert found["candidates"][0]["why"] in text and found["dropped"][-1]["why"] in text


def test_the_command_specializes_strides_of_1_and_names_sizes_that_nobody_gave(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*COMMAND, "--size", "stride_ak=3,stride_bn=3", "--json"]) == 0
    apart = capsys.readouterr()
    assert "without a size: stride_am, stride_bk, stride_cm;" in apart.err
    strides = "stride_am=512,stride_ak=1,stride_bk=512,stride_bn=1,stride_cm=512"
    assert main([*COMMAND, "--size", strides, "--json"]) == 0
    along = capsys.readouterr()
    assert "without a size" not in along.err and "made up, as matmul uses them: a_ptr=*fp16:16" in along.err
    first, second = (json.loads(each.out)["candidates"][0] for each in (apart, along))
    assert "lines" in first["why"] and "lines" not in second["why"] and second["microseconds"] < first["microseconds"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tune", "minitriton_kernels/matmul.py:matmul", "--size", "rows=512"], "lacks a parameter 'rows'"),
        (["tune", "minitriton_kernels/matmul.py:matmul", "--size", "m=many"], "is not NAME=NUMBER"),
        (["tune", "minitriton_kernels/softmax.py:softmax", "--signature", "*fp32,*fp32,i32,i32,i32,i32,BLOCK=64"], "no constant is a tile size"),
        (["tune", "minitriton_kernels/softmax.py:softmax", "--size", "n_cols=100000000"], "a tile of 134217728 elements, of 32768"),
        (["tune", ROWS, "--signature", "*fp16,*fp16,*fp32,i32"], "constant 'D' is how long an axis is in memory"),
        (["tune", "swiglu"], "no constant is a tile size (HALF: how long axes are in memory)"),
        (["tune", "rotary_in_pairs"], "no constant is a tile size (HALF: how long axes are in memory)"),
        (["tune", "doubles"], "no constant is a tile size (BLOCK: how long axes are in memory)"),
        (["tune", "bench_attention", "--signature", "*fp16"], "has its own types and launch, and --signature would change them"),
    ],
)  # fmt: skip
def test_the_command_refuses_what_cannot_be_searched(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 1
    assert said in capsys.readouterr().err


def test_what_was_measured_corrects_another_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    problem = ranking_of(4096, 4096, 4096, ACTIVATION="relu").problem
    first, second = rank(problem)[:2]
    measured = Measured(problem.kind)
    measured.add([(str(first.config), 100.0, 300.0), (str(second.config), 100.0, 100.0)])
    again = rank(problem)
    found = {str(candidate.config): candidate for candidate in again}
    assert found[str(first.config)].correction == pytest.approx(3**0.5)
    assert str(again[0].config) == str(second.config)


def test_time_falls_with_the_clock_of_what_limits() -> None:
    """A weight of nothing takes its cause out."""
    problem = ranking_of(4096, 4096, 4096).problem
    usual, free = rank(problem), rank(problem, Weights(tensor=1e-6, l2=1e-6, shared=1e-6))
    assert free[0].microseconds < 0.6 * usual[0].microseconds


def test_a_grid_of_numbers_is_refused_where_programs_follow_from_tiles() -> None:
    with pytest.raises(AutotunerError, match="says nothing of BLOCK") as caught:
        candidates(scale, (MockTensor("fp32"), MockTensor("fp32"), 1000, 2.0), grid=(8,))
    assert caught.value.location is not None and "meta['BLOCK']" in str(caught.value.help)


def test_a_kernel_without_tiles_is_refused() -> None:
    with pytest.raises(AutotunerError, match="FLAG") as caught:
        candidates(no_tiles, (MockTensor("fp32"), MockTensor("fp32")))
    assert caught.value.location is not None and caught.value.location.file == __file__
    with pytest.raises(AutotunerError, match="no constant is a tile size"):
        candidates(no_tiles, (MockTensor("fp32"), MockTensor("fp32")), FLAG=True)


def test_an_empty_space_says_what_misses_by_least() -> None:
    arrays = MockTensor("fp16", [512, 512]), MockTensor("fp16", [512, 512]), MockTensor("fp32", [512, 512])
    with pytest.raises(AutotunerError, match=r"none of \d+ configurations fits") as caught:
        candidates(split_matmul, (*arrays, 512, 24, 512))
    assert "N=24 is not a multiple of BN=16" in str(caught.value.help)


def tuned(kernel: Any, key: list[str], **options: Any) -> Any:
    return minitriton.autotune(configs="model", key=key, **options)(kernel)


def test_a_kernel_that_no_shared_memory_holds_says_by_how_much() -> None:
    kernel = load_kernels("matrix", "minitriton").causal_attention
    q = MockTensor("fp16", [64 * 2048, 8192])
    with pytest.raises(AutotunerError, match=r"none of \d+ configurations fits sm_90") as caught:
        candidates(kernel, (q, q, q, q, 0.1), LENGTH=2048, WIDTH=8192, target=SM90)
    assert caught.value.location is not None and "bytes of shared memory, of 232448" in str(caught.value.help)


def test_a_key_that_is_no_parameter_is_refused() -> None:
    with pytest.raises(AutotunerError, match="key 'm' is not a parameter of kernel 'scale'"):
        tuned(scale, ["m"])


def by_block(meta: dict[str, Any]) -> tuple[int]:
    return (minitriton.cdiv(3000, meta["BLOCK"]),)


def test_on_host_arrays_the_emulator_decides() -> None:
    kernel = tuned(scale, ["n"], k=2)
    x, out = np.arange(3000, dtype=np.float32), np.zeros(3000, np.float32)
    kernel[by_block](x, out, 3000, 2.0)
    assert np.array_equal(out, 2 * x)
    assert len(kernel.configs_timings) == 2 and kernel.best_config in kernel.configs_timings


def test_nothing_is_measured_with_k_0() -> None:
    kernel = tuned(scale, ["n"], k=0)
    x, out = np.arange(3000, dtype=np.float32), np.zeros(3000, np.float32)
    kernel[by_block](x, out, 3000, 2.0)
    assert kernel.configs_timings == {} and kernel.best_config == kernel.ranking[0].config


def test_the_length_of_an_axis_is_added_to_the_key() -> None:
    kernel = tuned(scale, [], k=0)
    x, out = np.arange(3000, dtype=np.float32), np.zeros(3000, np.float32)
    with pytest.warns(UserWarning, match="key of scale lacks n"):
        kernel[by_block](x, out, 3000, 2.0)
    assert kernel.keys == ["n"]


def test_a_gpu_that_is_gone_leaves_the_choice_to_the_model() -> None:
    def gone(*_: object, **__: object) -> list[float]:
        raise DriverError("cuLaunchKernel", 999, "CUDA_ERROR_UNKNOWN", "unknown error", "")

    kernel = tuned(scale, ["n"], k=2, do_bench=gone)
    x, out = np.arange(3000, dtype=np.float32), np.zeros(3000, np.float32)
    with pytest.warns(UserWarning, match="was not measured"):
        kernel[by_block](x, out, 3000, 2.0)
    assert kernel.best_config == kernel.ranking[0].config


def test_an_empty_list_of_a_kernel_without_tiles_means_what_it_does_in_triton() -> None:
    kernel: Any = minitriton.autotune(configs=[], key=[])(no_tiles)
    x, out = np.ones(1, np.float32), np.zeros(1, np.float32)
    kernel[(1,)](x, out, True)
    assert out[0] == 2 and kernel.best_config == Config({})


def test_candidates_by_the_name_of_the_decorator() -> None:
    found = minitriton.autotune.candidates(scale, (MockTensor("fp32"), MockTensor("fp32"), 1000, 2.0))  # pyright: ignore
    assert isinstance(found, Ranking) and isinstance(found[0].config, Config)


def test_a_profile_has_every_configuration() -> None:
    problem = ranking_of(4096, 4096, 4096).problem
    rows = [
        (
            {"BM": 128, "BN": 128, "BK": 64, "GROUP": 8},
            8,
            3,
            resources(problem.roles, {"BM": 128, "BN": 128, "BK": 64}, 8, 3, architecture_of(90)),
        )
    ]
    times = Profile.of(problem.roles, {}, rows, architecture_of(90), speeds_of(90)).times(
        {"M": 4096, "N": 4096, "K": 4096}, 132
    )
    assert times.ctas.tolist() == [1024] and 150 < times.microseconds[0] < 600


def test_a_search_of_the_laboratory_takes_the_same_space() -> None:
    from minitriton.lab.sweeping.candidates import tile_choices
    from minitriton.lab.sweeping.tuning_task import TuningTask

    arrays = [np.zeros(shape, np.float16) for shape in ((256, 512), (512, 384), (256, 384))]

    def grid(at: Any) -> tuple[int]:
        return (minitriton.cdiv(256, at["BM"]) * minitriton.cdiv(384, at["BN"]),)

    task = TuningTask.of_call(matmul, [*arrays, 256, 384, 512, 512, 384, 384], grid, BM=64, BN=64, BK=32, GROUP=8)
    found = tile_choices(task)
    assert (found["BM"], found["BK"], found["GROUP"]) == ([16, 32, 64, 128, 256], [32, 64, 128], [1, 4, 8, 16])
    assert found["num_warps"] == [4, 8]


@pytest.mark.parametrize(
    ("arch", "tile", "warps", "stages"),
    [("gfx942", (128, 64, 32), 4, 2), ("gfx942", (16, 32, 64), 4, 1), ("gfx950", (64, 64, 64), 4, 3)],
)
def test_lds_and_matrix_instruction_on_amd_are_what_a_compile_takes(
    arch: str, tile: tuple[int, int, int], warps: int, stages: int
) -> None:
    target = GPUTarget("hip", arch, 64)
    problem = ranking_of(4096, 4096, 4096, target=target).problem
    values = {**dict(zip(("BM", "BN", "BK"), tile, strict=True)), "GROUP": 8}
    expected = resources(
        problem.roles, {**problem.given, **values}, warps, stages, architecture_named(target.ttg_target)
    )
    source = problem.source_of(values)
    assert isinstance(source, ASTSource)
    kernel = compile(source, target, {"num_warps": warps, "num_stages": stages})
    assert expected.shared_bytes == kernel.metadata.shared
    assert expected.instruction.replace("f16", "_f16").replace("__", "_") in kernel.asm["amdgcn"]
    taken = int(re.findall(r"\.vgpr_count:\s+(\d+)", kernel.asm["amdgcn"])[0])
    assert 0.6 < expected.registers / taken < 1.4


def test_the_emulator_s_counts_decide_on_amd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "gfx942")
    tuned = minitriton.autotune(configs="model", key=["n"], k=2)(scale)
    x, out = np.arange(500, dtype=np.float32), np.zeros(500, np.float32)
    tuned[lambda meta: (minitriton.cdiv(500, meta["BLOCK"]),)](x, out, 500, 2.0)
    np.testing.assert_array_equal(out, 2 * x)
    assert len(tuned.configs_timings) == 2 and tuned.ranking.problem.target.arch == "gfx942"
    assert "304 compute units" in (said := tuned.ranking.explain()) and "SM" not in said
