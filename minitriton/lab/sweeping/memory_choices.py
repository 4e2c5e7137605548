"""How a kernel's loads and stores may treat the caches, and whether its launches may overlap, each as the pass that says so.

memory_steps(task)    [[minitriton-overlap-launches], [minitriton-cache-hints{hint=cg}, ...], [...{of=stores hint=cs}], [...{access=1 hint=evict_last}]]

`with_memory_step` puts one where all accesses are as they will be lowered, before the lowering, in place of one that says the same thing.
"""

from __future__ import annotations

from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.dialects.tt import LoadOp, StoreOp
from minitriton.lab.sweeping.tuning_task import TuningTask
from minitriton.passes.cache_hints import HINTS, PREFETCHES
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Step
from minitriton.pipeline.pipeline_spec import make_step

CACHE_HINTS = "minitriton-cache-hints"
OVERLAP = "minitriton-overlap-launches"

_OF_ONE_LOAD = ("evict_first", "evict_last", "no_allocate")
_FIRST_OVERLAPPING = 90


def memory_steps(task: TuningTask) -> list[list[Step]]:
    """By what they are about: overlapping launches, every hint and prefetch for all loads, every hint for all stores, and the hints that tell
    loads apart where there are several."""
    module = task.make_ir()
    loads, stores = len(ops_of(module, LoadOp)), len(ops_of(module, StoreOp))
    found: list[list[Step]] = []
    if task.target.arch >= _FIRST_OVERLAPPING:
        found.append([make_step(OVERLAP, {})])
    if loads:
        alone = [_hint(hint=hint) for hint in HINTS["loads"]] + [_hint(prefetch=str(size)) for size in PREFETCHES]
        found.append([*alone, *(_hint(hint=hint, prefetch="256") for hint in ("no_allocate", "evict_first"))])
    if stores:
        found.append([_hint(of="stores", hint=hint) for hint in HINTS["stores"]])
    if loads > 1:
        found.append([_hint(access=str(number), hint=hint) for number in range(loads) for hint in _OF_ONE_LOAD])
    return found


def _hint(**options: str) -> Step:
    return make_step(CACHE_HINTS, dict[str, str | None](options))


def with_memory_step(pipeline: Pipeline, step: Step) -> Pipeline:
    """`pipeline` with `step` before the lowering, in place of one for the same accesses."""
    steps = [s for s in pipeline.steps if _about(s) != _about(step)]
    at = next(i for i, s in enumerate(steps) if s.name == "convert-triton-gpu-to-llvm")
    return Pipeline((*steps[:at], step, *steps[at:]))


def _about(step: Step) -> tuple[str, object, object]:
    return step.name, getattr(step, "of", None), getattr(step, "access", None)
