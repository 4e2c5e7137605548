"""What the kernels compile to is what lies next to this file: a change of generated code is read in its diff."""

import difflib
import sys
from pathlib import Path

import pytest

from minitriton_kernels.cases import Case

sys.path.insert(0, str(Path(__file__).parent))

from golden_files import FOLDER, PIPELINES, STAGES, golden_cases, golden_path, golden_texts
from pipeline_texts import pipeline_texts


def assert_same(path: Path, text: str) -> None:
    before = path.read_text().splitlines() if path.exists() else []
    lines = difflib.unified_diff(before, text.splitlines(), str(path.relative_to(FOLDER)), "now", lineterm="")
    shown = "\n".join(list(lines)[:40])
    assert not shown, f"{shown}\n\nif that is meant: make golden, and read the diff"


@pytest.mark.parametrize(("case", "arch"), golden_cases(), ids=lambda one: getattr(one, "name", str(one)))
def test_a_kernel_compiles_to_its_golden_files(case: Case, arch: int) -> None:
    for stage, text in golden_texts(case, arch).items():
        assert_same(golden_path(case, arch, stage), text)


def test_every_target_has_its_golden_pipelines() -> None:
    assert_same(PIPELINES, pipeline_texts())


def test_no_golden_file_lies_there_that_no_kernel_makes() -> None:
    made = {golden_path(case, arch, stage) for case, arch in golden_cases() for stage in STAGES}
    assert set(FOLDER.glob("sm_*/*")) == made
