"""The tile sizes of a compile among those that there could be: its row, why others are dropped, a signature that gives any of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.session import ExplorerSession

MATMUL = "minitriton_kernels/matmul.py:matmul"
TYPES = "*fp16:16,*fp16:16,*fp32:16,i32,i32,i32,i32,1,i32,1,i32,BM={},BN={},BK=64,GROUP=8,ACC=fp32"


def tiles_of(session: ExplorerSession, asked: CompileRequest, sizes: str = "") -> Any:
    return session.answer("tiles", {"asked": asked.plain(), "sizes": sizes})


def test_a_compile_finds_its_own_tiles_and_compiles_with_the_first() -> None:
    session = ExplorerSession()
    found = tiles_of(session, CompileRequest(MATMUL, TYPES.format(64, 64)), "m=4096,n=4096,k=4096")
    row = found["own"]["row"]
    assert found["own"]["text"].startswith(f"number {row + 1} of {found['fit']}: ") and "wgmma" in found["own"]["text"]
    assert "BM: M of a dot, split among programs, of m" in found["said"] and found["sizes"] == "m=4096,n=4096,k=4096"
    assert (
        {one["what"] for one in found["reasons"]}
        == {"registers", "shared memory"}
        == {one[1] for one in found["dropped"]}
    )
    first = found["configs"][0]
    items = {**found["items"], **{name: str(first[name]) for name in ("BM", "BN", "BK")}}
    options = (f"num_warps={first['num_warps']}", f"num_stages={first['num_stages']}")
    again = CompileRequest(MATMUL, ",".join(f"{n}={v}" for n, v in items.items()), options=options)
    assert tiles_of(session, again, "m=4096,n=4096,k=4096")["own"]["text"].startswith("number 1 of ")


def test_tiles_that_do_not_fit_say_what_they_lack() -> None:
    asked = CompileRequest(MATMUL, TYPES.format(128, 256), options=("num_warps=4",))
    own = tiles_of(ExplorerSession(), asked, "m=4096,n=4096,k=4096")["own"]
    assert own["row"] is None and "registers of accumulators a thread, of 255" in own["text"]


def test_the_sizes_are_those_of_the_kernels_own_launch() -> None:
    found = tiles_of(ExplorerSession(), CompileRequest("minitriton_kernels/layer_norm.py:layer_norm").with_own_launch())
    assert "n_cols=1500" in found["sizes"] and "n_cols=1500" in found["title"]


@pytest.mark.parametrize(
    ("asked", "programs"),
    [
        (CompileRequest("minitriton_kernels/transpose.py:transpose"), lambda c: (-(-100 // c["ROWS"]), -(-90 // c["COLS"]))),
        (CompileRequest("minitriton_kernels/vector_add.py:vector_add"), lambda c: (-(-4000 // c["BLOCK"]),)),
        (CompileRequest("bench_bias_relu"), lambda c: (-(-128 // c["M"]), -(-128 // c["N"]))),
        (CompileRequest(MATMUL, TYPES.format(64, 64), grid="35", numbers=("m=300", "n=400", "k=128")), lambda c: (-(-300 // c["BM"]) * -(-400 // c["BN"]),)),
        (CompileRequest("minitriton_kernels/attention.py:row_products", grid="4,3"), lambda c: (128 // c["BM"] or 1, 3)),
    ],
)  # fmt: skip
def test_the_grid_follows_the_tiles(asked: CompileRequest, programs: Callable[[Any], tuple[int, ...]]) -> None:
    found = tiles_of(ExplorerSession(), asked.with_own_launch())
    for config, grid in zip(found["configs"], found["grids"], strict=True):
        wanted = programs(config)
        assert tuple(map(int, grid.split(",")))[: len(wanted)] == wanted


def test_a_grid_that_does_not_follow_from_the_tiles_is_not_made_up() -> None:
    asked = CompileRequest(MATMUL, TYPES.format(64, 64), grid="7", numbers=("m=300", "n=400", "k=128"))
    assert set(tiles_of(ExplorerSession(), asked)["grids"]) == {""}
    assert set(tiles_of(ExplorerSession(), CompileRequest(MATMUL, TYPES.format(64, 64)))["grids"]) == {""}


def test_a_kernel_of_the_corpus_is_compiled_with_other_tiles_from_its_file() -> None:
    session = ExplorerSession()
    found = tiles_of(session, CompileRequest("bench_bias_relu"))
    items = {**found["items"], **{name: str(found["configs"][0][name]) for name in ("M", "N")}}
    signature = ",".join(f"{name}={item}" for name, item in items.items())
    asked = replace(CompileRequest.of_plain(found["asked"]), signature=signature, grid=found["grids"][0])
    run = session.answer("run", {"asked": asked.plain()})
    assert not run.get("fault") and run["grid"] == list(map(int, found["grids"][0].split(",")))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (CompileRequest("minitriton_kernels/attention.py:attention"), "blocks are fixed by their types"),
        (CompileRequest("minitriton_kernels/gluon/copy.py:copy_rows"), "a kernel in Gluon its layouts"),
        (CompileRequest(MATMUL, TYPES.format(64, 64), arch="gfx1250"), "knows no speeds of gfx1250"),
    ],
)
def test_kernels_whose_tiles_are_not_constants_say_so(asked: CompileRequest, said: str) -> None:
    with pytest.raises(MinitritonError) as caught:
        tiles_of(ExplorerSession(), asked)
    assert said in str(caught.value)
