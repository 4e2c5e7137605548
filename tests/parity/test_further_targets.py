"""Architectures whose own tensor cores are not supported compile as targets of `mma.sync`, and the assembler accepts what comes out.

MINITRITON_WHOLE_PARITY=1 python -m pytest tests/parity/test_further_targets.py      every case; else one of each file
"""

import os

import pytest
from building import compiled
from parity_cases import ALL_CASES

from minitriton.codegen.assemblers import assembler_available
from minitriton.target.architectures import ARCHITECTURES
from minitriton_kernels.cases import Case

FURTHER = (100, 120)

WANTED = ALL_CASES if os.environ.get("MINITRITON_WHOLE_PARITY") else [*{case.file: case for case in ALL_CASES}.values()]


@pytest.mark.sampled(3)
@pytest.mark.skipif(not assembler_available(), reason="there is no assembler here")
@pytest.mark.parametrize("arch", FURTHER)
@pytest.mark.parametrize("case", WANTED, ids=lambda case: case.name)
def test_the_assembler_accepts_a_case_for_a_target_of_mma_sync(case: Case, arch: int) -> None:
    kernel = compiled(case, "minitriton", arch)
    assert f".target {ARCHITECTURES[arch].sm}" in kernel.asm["ptx"]
    assert "wgmma" not in kernel.asm["ptx"]
    assert kernel.asm["cubin"][:4] == b"\x7fELF"
