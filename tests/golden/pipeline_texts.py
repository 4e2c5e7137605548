"""The pipeline of every architecture for every kind of option, as one text: what a change of `minitriton/pipelines.py` did is read in its diff.

    python tests/golden/pipeline_texts.py > pipelines.txt

The first pipeline of an architecture is written out, a step a line; of the others only the steps that differ from it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from minitriton.pipeline.pipeline_spec import format_step
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.pipeline.request import Switches
from minitriton.target import CUDAOptions, GPUTarget
from minitriton.target.architectures import ARCHITECTURES

_OPTIONS: dict[str, dict[str, object]] = {
    "num_warps=8 num_stages=2": {"num_warps": 8, "num_stages": 2},
    "num_ctas=2": {"num_ctas": 2},
    "maxnreg=128": {"maxnreg": 128},
    "ptx_version=83 extern_libs": {"ptx_version": 83, "extern_libs": (("l", "lib.bc"),)},
    "no fusion, no flush to zero": {"enable_fp_fusion": False, "enable_reflect_ftz": False},
    "without=minitriton": {"without": "minitriton"},
}
_SWITCHES = {
    "no line info": Switches(line_info=False),
    "local variables": Switches(local_variables=True),
    "LLVM not optimizing": Switches(optimize_llvm=False),
    "LLVM flags": Switches(llvm_flags=("disable-lsr",)),
}


def pipeline_texts() -> str:
    """The whole text."""
    return "\n".join(line for arch in ARCHITECTURES for line in _of(GPUTarget("cuda", arch))) + "\n"


def _of(target: GPUTarget) -> Iterator[str]:
    own = _steps(target, {}, Switches())
    yield from (f"== {target.sm}", *own)
    for name, options in _OPTIONS.items():
        if "num_ctas" not in options or target.features.has_clusters:
            yield from (f"-- {target.sm}: {name}", *_changes(own, _steps(target, options, Switches())))
    for name, switches in _SWITCHES.items():
        yield from (f"-- {target.sm}: {name}", *_changes(own, _steps(target, {}, switches)))


def _steps(target: GPUTarget, options: dict[str, object], switches: Switches) -> list[str]:
    return [
        format_step(step) for step in pipeline_for(target, CUDAOptions.for_target(target, **options), switches).steps
    ]


def _changes(own: list[str], other: list[str]) -> list[str]:
    return [line for line in difflib.ndiff(own, other) if line[0] in "+-"]


if __name__ == "__main__":
    print(pipeline_texts(), end="")
