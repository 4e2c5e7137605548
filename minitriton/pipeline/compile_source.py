"""From a source (a Python kernel, or IR text of any stage) to the text of every stage, and the metadata that a launch needs.

Nothing here knows of a cache, a device or a launch: `runtime.compiling` asks for a compile and makes a `CompiledKernel` of it.
"""

import functools
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.llvm import FuncOp as LLVMFuncOp

from minitriton import knobs
from minitriton.analysis.register_demand import fitting_warps
from minitriton.analysis.shared_memory.advice import shared_memory_advice
from minitriton.analysis.tensor_descriptors import descriptor_metadata
from minitriton.dialects.facts.pass_attributes import DESCRIBED_TILES, OVERLAPS_LAUNCHES
from minitriton.dialects.locations import source_location
from minitriton.dialects.text import parse_module
from minitriton.dialects.tt import FuncOp
from minitriton.errors import OutOfResources
from minitriton.host.frozen import record
from minitriton.host.garbage import no_garbage_collection
from minitriton.host.whole_file import stem_of
from minitriton.pipeline.ir_source import entry_of_text
from minitriton.pipeline.pass_manager import Hook, PassManager, Pipeline, representation_text, write_reproducer
from minitriton.pipeline.pass_registry import Property, Step, Translation
from minitriton.pipeline.pipelines import whole_pipeline
from minitriton.pipeline.request import Request, Switches
from minitriton.pipeline.stages import FIRST_STAGES, first_properties, properties_of, reproducer_path, split
from minitriton.target import CompileOptions, GPUTarget
from minitriton.target.architectures import LIMITS
from minitriton.target.backends import all_stages_of, stages_of


@record
class _LoweringFacts(Hook):
    """Notes what the lowering finds out for the metadata. Raises `OutOfResources` where `target` has too little."""

    target: GPUTarget
    num_stages: int = 3
    metadata: dict[str, object] = field(default_factory=dict[str, object])

    def before(self, step: Step, value: object) -> None:
        if Property.LLVM_DIALECT in step.establishes and isinstance(value, ModuleOp):
            self.metadata["tensordesc_meta"] = descriptor_metadata(value)
            described = value.attributes.get(DESCRIBED_TILES)
            if isinstance(described, StringAttr):
                self.metadata["described_tiles"] = json.loads(described.data)
        if Property.LLVM_IR in step.establishes and isinstance(value, ModuleOp):
            self.metadata.update(_module_metadata(value))

    def after(self, step: Step, value: object) -> None:
        if step.establishes & _KNOWS_SHARED_MEMORY and isinstance(value, ModuleOp):
            _check_shared_memory(value, self.target, self.num_stages)


_KNOWS_SHARED_MEMORY = frozenset({Property.SHARED_ALLOCATED, Property.LLVM_DIALECT})
"""What a step establishes after which a module says how much shared memory it takes."""


def _check_shared_memory(module: ModuleOp, target: GPUTarget, num_stages: int) -> None:
    """Raises `OutOfResources` if a block of `target` has less shared memory than `module` takes, at its kernel."""
    required = _module_metadata(module)["shared"]
    limit = target.max_shared_memory
    if required <= limit:
        return
    functions = [op for op in module.ops if isinstance(op, FuncOp | LLVMFuncOp) and op.regions[0].blocks]
    locations = (source_location(op.location) for op in functions)
    error = OutOfResources(required, limit, "shared memory", next((each for each in locations if each), None))
    if any(isinstance(op, FuncOp) for op in functions):
        error.help = f"{error.help}\n{shared_memory_advice(module, required, limit, num_stages)}"
    raise error


def _module_metadata(module: ModuleOp) -> dict[str, int]:
    def number(name: str) -> int:
        value = module.attributes.get(name)
        return value.value.data if isinstance(value, IntegerAttr) else 0

    warps = number("ttg.total-num-warps")
    return {
        **({"num_warps": warps} if warps else {}),
        **({"launch_pdl": True} if OVERLAPS_LAUNCHES in module.attributes else {}),
        "shared": number("ttg.shared"),
        "global_scratch_size": number("ttg.global_scratch_memory_size"),
        "global_scratch_align": number("ttg.global_scratch_memory_alignment") or 1,
        "profile_scratch_size": 0,
        "profile_scratch_align": 1,
        "tmem_size": 0,
    }


Stage: TypeAlias = "Callable[[object, dict[str, object]], object]"
"""From the representation before a stage, and the metadata known by then, to the one after."""


class Compiled(NamedTuple):
    """What a compile gives: stage → text, the metadata less the kernel's key, and the seconds that each part took."""

    texts: Mapping[str, str | bytes]
    metadata: dict[str, object]
    seconds: dict[str, float]


def compile_request(
    request: Request,
    context: Context,
    hooks: list[Hook],
    folder: Path,
    *,
    until: str | None = None,
    inspect: Callable[[dict[str, Stage]], None] | None = None,
) -> Compiled:
    """Runs the stages of `request`. `folder` is where their texts will be stored, for locations in them (`USE_IR_LOC`); `inspect` may
    replace or add stages before they run. `until` names the last stage wanted. Raises `MinitritonError`s that name the kernel's line.
    """
    with no_garbage_collection():
        return _compile(request, context, hooks, folder, until, inspect)


def _compile(
    request: Request,
    context: Context,
    hooks: list[Hook],
    folder: Path,
    until: str | None,
    inspect: Callable[[dict[str, Stage]], None] | None,
) -> Compiled:
    source, target, options, overrides = request.source, request.target, request.options, request.overrides
    since = time.perf_counter()
    value = source.make_ir(target, options, context)
    seconds = {"frontend": time.perf_counter() - since}
    texts: dict[str, str | bytes] = {} if source.ext in FIRST_STAGES else {source.ext: representation_text(value)}
    facts = _LoweringFacts(target, options.num_stages)
    if source.ext == "ptx":
        facts.metadata["pipeline"] = _checked_parts(target, options, request.switches, "ptx", first_properties("ptx"))[
            1
        ]
    else:
        properties = properties_of(value, source.ext, target)
        parts, facts.metadata["pipeline"] = _checked_parts(target, options, request.switches, source.ext, properties)
        known = stages_of(target.backend)
        wanted = known[: known.index(until) + 1 if until else None]
        stages = _runs(parts, wanted, context, [facts, *hooks])
        if inspect is not None:
            inspect(stages)
        wait = inspect is None and until is None and not hooks
        for stage in list(stages):
            if wait and _may_wait(dict(parts)[stage], value):
                continue
            since = time.perf_counter()
            value = overrides.replace(stage, stages[stage](value, facts.metadata), options)
            if stage == "ttir" and inspect is None and (fitting := _with_fitting_warps(request, value)) is not None:
                ttir, options = dict(parts)[stage], fitting.options
                parts, facts.metadata["pipeline"] = _checked_parts(
                    target, options, request.switches, source.ext, properties
                )
                if dict(parts)[stage] != ttir:
                    return _compile(fitting, context, hooks, folder, until, inspect)
                stages = _runs(parts, wanted, context, [facts, *hooks])
            text = texts[stage] = value if isinstance(value, bytes) else representation_text(value)
            if knobs.compilation.use_ir_loc == stage and isinstance(value, ModuleOp):
                path = folder / f"{stem_of(source.name.removeprefix('@'))}.{stage}"
                value = parse_module(str(text), str(path), ignore_locations=True)
            seconds[stage] = time.perf_counter() - since
    ptx = texts.get("ptx")
    metadata = {**asdict(options), **facts.metadata, "target": target, "triton_version": options.triton_version}
    metadata["name"] = source.entry if ptx is None else entry_of_text(str(ptx), "ptx")[0]
    metadata.setdefault("tensordesc_meta", [])
    if "shared" not in metadata and isinstance(value, ModuleOp):
        metadata["shared"] = None  # Only the lowering knows.
    elif "shared" not in metadata:
        metadata.update({"shared": shared_of_text(str(value)), **source.known_metadata()})
    binary = overrides.cubin()
    return Compiled(texts if binary is None else {**texts, "cubin": binary}, metadata, seconds)


def _runs(
    parts: Iterable[tuple[str, Pipeline]], wanted: Sequence[str], context: Context, hooks: list[Hook]
) -> dict[str, Stage]:
    """What runs each stage that is wanted."""
    return {
        stage: functools.partial(_run_stage, stage, part, context, hooks) for stage, part in parts if stage in wanted
    }


def _with_fitting_warps(request: Request, module: object) -> Request | None:
    """The same request with the warps that the tiles of its TTIR need, where the program leaves their number open and it is another."""
    options = request.options
    is_open = getattr(options, "choose_warps", False) and "minitriton" not in options.without.split(",")
    if not is_open or options.num_ctas != 1 or not isinstance(module, ModuleOp):
        return None
    most = LIMITS.threads_per_cta // options.warp_size
    if maxnreg := getattr(options, "maxnreg", None):
        sm = request.target.features
        most = min(most, sm.registers_per_sm // (sm.warp_size * sm.allotted(maxnreg)))
    warps = fitting_warps(module, options.num_warps, most, options.warp_size)
    if warps == options.num_warps:
        return None
    return request._replace(options=replace(options, num_warps=warps, choose_warps=False))


def _may_wait(part: Pipeline, value: object) -> bool:
    return len(part.steps) == 1 and isinstance(part.steps[0], Translation) and part.steps[0].may_wait(value)


@functools.lru_cache(maxsize=64)
def _checked_parts(
    target: GPUTarget, options: CompileOptions, switches: Switches, ext: str, facts: frozenset[Property]
) -> tuple[list[tuple[str, Pipeline]], str]:
    """The stages after `ext`, each with its passes, and all of these as text. Raises `PipelineError` for a broken contract."""
    parts = split(whole_pipeline(target, options, switches, ext), ext, all_stages_of(target.backend))
    remaining = Pipeline(tuple(step for _, part in parts for step in part.steps))
    remaining.check(facts)
    return parts, str(remaining)


def _run_stage(
    stage: str, part: Pipeline, context: Context, hooks: list[Hook], value: object, metadata: dict[str, object]
) -> object:
    """What `stage` makes of `value`; `metadata` is there for stages of a program's own."""
    reproducer = reproducer_path(stage)
    if reproducer is not None:
        write_reproducer(reproducer, part, representation_text(value))
    return PassManager(part, hooks, reproducer).run(context, value)


_UNKNOWN_DYNAMIC_SHARED = 48 * 1024


def shared_of_text(text: str) -> int:
    """Bytes of dynamic shared memory for PTX or LLVM IR from elsewhere, which does not say: the most that needs no opt-in."""
    return _UNKNOWN_DYNAMIC_SHARED if "global_smem" in text else 0
