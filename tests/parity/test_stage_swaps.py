"""Each compiler continues from each stage of the other, down to machine code, and what comes out computes the same on the
emulator. No GPU needed."""

from pathlib import Path

import pytest
from building import check, compiled, emulate, triton_continues, we_continue
from parity_cases import ALL_CASES

from minitriton_kernels.cases import Case

pytestmark = pytest.mark.oracle
pytest.importorskip("triton")

STAGES = ["ttir", "ttgir", "llir", "ptx"]
every_case = pytest.mark.parametrize("case", ALL_CASES, ids=lambda c: c.name, scope="module")
"""The tests of a case run one after the other: what one compiles the next has at hand."""


def shared_bytes(case: Case) -> int:
    """Enough for what either compiler asks."""
    return max(compiled(case, who).metadata.shared for who in ("minitriton", "triton"))


@pytest.mark.sampled(6)
@every_case
def test_triton_continues_from_each_stage_of_ours(case: Case, tmp_path: Path) -> None:
    ours = compiled(case, "minitriton")
    wanted = emulate(case, ours.asm["ptx"], ours.metadata.shared)
    for stage in STAGES:
        ptx = triton_continues(case, stage, ours.asm[stage], tmp_path)
        check(case, emulate(case, ptx, shared_bytes(case)), wanted, exact=case.exact_order)


@pytest.mark.sampled(6)
@every_case
def test_we_continue_from_each_stage_of_triton_s(case: Case, tmp_path: Path) -> None:
    theirs = compiled(case, "triton")
    wanted = emulate(case, theirs.asm["ptx"], theirs.metadata.shared)
    for stage in STAGES:
        ptx = we_continue(case, stage, theirs.asm[stage], tmp_path)
        check(case, emulate(case, ptx, shared_bytes(case)), wanted, exact=case.exact_order)
