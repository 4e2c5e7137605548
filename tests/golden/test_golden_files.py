"""What the example kernels compile to is what lies beside this file: a change of generated code is read in its diff."""

import difflib
import sys
from pathlib import Path

import pytest
from cases import CASES, Case

sys.path.insert(0, str(Path(__file__).parent))

from golden_files import ARCHITECTURES, FOLDER, STAGES, golden_path, golden_texts


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_an_example_compiles_to_its_golden_files(case: Case, arch: int) -> None:
    for stage, text in golden_texts(case, arch).items():
        path = golden_path(case, arch, stage)
        before = path.read_text().splitlines() if path.exists() else []
        lines = difflib.unified_diff(before, text.splitlines(), str(path.relative_to(FOLDER)), "now", lineterm="")
        shown = "\n".join(list(lines)[:40])
        assert not shown, f"{shown}\n\nif that is meant: make golden, and read the diff"


def test_no_golden_file_lies_there_that_no_example_makes() -> None:
    made = {golden_path(case, arch, stage) for case in CASES for arch in ARCHITECTURES for stage in STAGES}
    assert set(FOLDER.glob("sm_*/*")) == made
