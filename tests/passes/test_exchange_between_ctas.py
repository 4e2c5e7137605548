"""`exchange-between-ctas`: conversions stand around what needs data of other CTAs, and nowhere else."""

from __future__ import annotations

from filecheck_ir import check, run

from minitriton.passes.exchange_between_ctas import ExchangeBetweenCTAs

BUFFER = """
    #rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[1, 0]]}>
    #columns = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[0, 1]]}>
    #shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0], CGALayout = [[1, 0]]}>
    #smem = #ttg.shared_memory
    module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
      tt.func @f(%x: tensor<32x64xf32, #FROM>) -> tensor<32x64xf32, #TO> {
        %b = ttg.local_alloc %x : (tensor<32x64xf32, #FROM>) -> !ttg.memdesc<32x64xf32, #shared, #smem>
        %y = ttg.local_load %b : !ttg.memdesc<32x64xf32, #shared, #smem> -> tensor<32x64xf32, #TO>
        tt.return %y : tensor<32x64xf32, #TO>
      }
    }
"""


def test_a_buffer_is_read_as_its_ctas_hold_it() -> None:
    check(
        BUFFER.replace("#FROM", "#rows").replace("#TO", "#columns"),
        ExchangeBetweenCTAs(),
        """
        // CHECK: #[[COLUMNS:.*]] = #ttg.blocked<{{.*}}CGALayout = {{\\[\\[}}0, 1]]}>
        // CHECK: #[[ROWS:.*]] = #ttg.blocked<{{.*}}CGALayout = {{\\[\\[}}1, 0]]}>
        // CHECK: ttg.local_load {{.*}} -> tensor<32x64xf32, #[[ROWS]]>
        // CHECK: ttg.convert_layout {{.*}} : tensor<32x64xf32, #[[ROWS]]> -> tensor<32x64xf32, #[[COLUMNS]]>
        """,
    )


def test_a_buffer_is_written_as_its_ctas_hold_it() -> None:
    text = run(BUFFER.replace("#FROM", "#columns").replace("#TO", "#rows"), ExchangeBetweenCTAs())
    lines = [line.split()[2] for line in text.splitlines() if "ttg." in line and "= ttg." in line]
    assert lines == ["ttg.convert_layout", "ttg.local_alloc", "ttg.local_load"]


def test_nothing_changes_where_the_ctas_agree() -> None:
    source = BUFFER.replace("#FROM", "#rows").replace("#TO", "#rows")
    assert run(source, ExchangeBetweenCTAs()) == run(source)


SCAN = """
    #rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[1, 0]]}>
    module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
      tt.func @f(%x: tensor<32x64xf32, #rows>) -> tensor<32x64xf32, #rows> {
        %y = "tt.scan"(%x) <{axis = AXIS : i32, reverse = false}> ({
        ^bb0(%a: f32, %b: f32):
          %c = arith.addf %a, %b : f32
          tt.scan.return %c : f32
        }) : (tensor<32x64xf32, #rows>) -> tensor<32x64xf32, #rows>
        tt.return %y : tensor<32x64xf32, #rows>
      }
    }
"""


def test_a_scan_along_an_axis_that_ctas_share_runs_where_they_share_the_other() -> None:
    check(
        SCAN.replace("AXIS", "0"),
        ExchangeBetweenCTAs(),
        """
        // CHECK: #[[ROWS:.*]] = #ttg.blocked<{{.*}}CGALayout = {{\\[\\[}}1, 0]]}>
        // CHECK: #[[COLUMNS:.*]] = #ttg.blocked<{{.*}}CGALayout = {{\\[\\[}}0, 1]]}>
        // CHECK: ttg.convert_layout {{.*}} : tensor<32x64xf32, #[[ROWS]]> -> tensor<32x64xf32, #[[COLUMNS]]>
        // CHECK: "tt.scan"
        // CHECK: }) : (tensor<32x64xf32, #[[COLUMNS]]>) -> tensor<32x64xf32, #[[COLUMNS]]>
        // CHECK: ttg.convert_layout {{.*}} : tensor<32x64xf32, #[[COLUMNS]]> -> tensor<32x64xf32, #[[ROWS]]>
        """,
    )


def test_a_scan_along_another_axis_stays() -> None:
    source = SCAN.replace("AXIS", "1")
    assert run(source, ExchangeBetweenCTAs()) == run(source)
