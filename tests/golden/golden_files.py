"""The example kernels, and one each with a cluster, warp specialization and attention, as text: what the frontend and the passes make of
them for sm_80 and sm_90, stored next to this file, with the pipelines of every target.

    python tests/golden/golden_files.py        # writes them anew; `git diff tests/golden` then shows what a change did

Locations are left out and line information is off, so that the text says what is computed and nothing of where.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parent / "parity"), str(FOLDER)]

from building import source_parts
from pipeline_texts import pipeline_texts

from minitriton import knobs
from minitriton.compiler import ASTSource, compile
from minitriton.dialects.text import parse_module, print_module
from minitriton.lab import corpus
from minitriton.pipeline.pass_manager import Hook
from minitriton.target import GPUTarget
from minitriton_kernels.cases import CASES, Case, load_kernels

ARCHITECTURES = (80, 90)
STAGES = ("ttir", "ttgir", "ptx")
HOPPER_CASES = [corpus.find(name) for name in ("matmul_of_clusters", "specialized_matmul", "attention_of_two_groups")]
PIPELINES = FOLDER / "pipelines.txt"


def golden_cases() -> list[tuple[Case, int]]:
    """Every kernel with the architectures that it is compiled for: clusters need sm_90."""
    return [
        (case, arch) for arch in ARCHITECTURES for case in (*CASES, *HOPPER_CASES) if case.num_ctas == 1 or arch == 90
    ]


def golden_path(case: Case, arch: int, stage: str) -> Path:
    return FOLDER / f"sm_{arch}" / f"{case.name}.{stage}"


def golden_texts(case: Case, arch: int) -> dict[str, str]:
    """By stage, the text of `case` compiled for `arch`, never from the cache."""
    source = ASTSource(getattr(load_kernels(case.file, "minitriton"), case.kernel), *source_parts(case))
    with knobs.compilation.scope():
        knobs.compilation.disable_line_info = True
        kernel = compile(source, GPUTarget("cuda", arch), case.launch_options, hooks=[Hook()], assemble=False)
    return {stage: _without_places(stage, kernel.asm[stage]) for stage in STAGES}


def _without_places(stage: str, text: str) -> str:
    return (text if stage == "ptx" else print_module(parse_module(text))).rstrip("\n") + "\n"


def update() -> None:
    """Writes every file; one whose case is gone goes too."""
    written = {PIPELINES}
    PIPELINES.write_text(pipeline_texts())
    for case, arch in golden_cases():
        for stage, text in golden_texts(case, arch).items():
            path = golden_path(case, arch, stage)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            written.add(path)
    for path in set(FOLDER.glob("sm_*/*")) - written:
        path.unlink()
    print(f"{len(written)} files")


if __name__ == "__main__":
    update()
