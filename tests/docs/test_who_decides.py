"""The page on who decides names passes that run in that order, files that are there, and every barrier that a lowering inserts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.irdl import IRDLOperation

from minitriton.codegen.lowering.registry import lowerings_of
from minitriton.codegen.target_interface import target_info
from minitriton.dialects.facts.synchronization import LoweringBarrier
from minitriton.pipeline.pipeline_spec import format_step
from minitriton.pipeline.pipelines import whole_pipeline
from minitriton.target import CUDAOptions, GPUTarget

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/who-decides.md").read_text()
SECTIONS = re.findall(r"^## (.*)\n\nIn order: (.*)\n", PAGE, re.MULTILINE)


def test_every_section_has_its_passes() -> None:
    assert len(SECTIONS) == PAGE.count("\n## ")


@pytest.mark.parametrize(("section", "passes"), SECTIONS)
def test_passes_run_in_the_order_of_the_page(section: str, passes: str) -> None:
    target = GPUTarget("cuda", 90)
    options = CUDAOptions.for_target(target, maxnreg=128)
    names = [format_step(step).split("{")[0] for step in whole_pipeline(target, options).steps]
    last = len(names)
    for name in reversed(re.findall(r"`([\w-]+)`", passes)):
        assert name in names[:last], (section, name)
        last = len(names[:last]) - 1 - names[:last][::-1].index(name)


def test_files_are_there() -> None:
    for path in re.findall(r"`([\w/]+\.py)`", PAGE):
        assert (ROOT / path).is_file() or (ROOT / "minitriton" / path).is_file(), path


def test_the_barriers_of_lowerings_are_those_of_the_table() -> None:
    table = dict(re.findall(r"^\| `([\w.]+)` \| `(codegen/[\w/]+\.py)` \|", PAGE, re.MULTILINE))
    for backend in ("cuda", "hip"):
        target_info(backend)  # its dialect is loaded and its lowerings are registered from then on
    classes = {
        cls.name: cls for cls in _subclasses(IRDLOperation) if LoweringBarrier.of_class(cls) and hasattr(cls, "name")
    }
    assert set(classes) == set(table)
    for name, cls in classes.items():
        rule = lowerings_of("hip" if name.startswith("amdg.") else "cuda").of_class(cls)
        assert rule is not None and rule.__module__ == "minitriton." + table[name].removesuffix(".py").replace("/", ".")


def _subclasses(cls: type[IRDLOperation]) -> Iterator[type[IRDLOperation]]:
    for each in cls.__subclasses__():
        yield each
        yield from _subclasses(each)
