"""From what is asked to a program: its source, target, options, passes and, where it is to run, its launch.

program = open_program(CompileRequest("softmax.py:softmax", "*fp32,*fp32,i32,BLOCK=1024"))
program.source, .target, .options, .pipeline
program.launch()                                      with inputs given or made up

It may be one of a folder that Triton or Inductor left: a cache of Triton's, a dump, the output of torch.compile. Triton's cache has a folder a kernel, with a
file a stage; Inductor keeps such a cache below its own folder. The earliest stage of each is taken: from there all later ones follow.

kernels_in(Path("~/.triton/cache"))      [".../ab12/add.ttir", ".../cd34/softmax.ttir"]
compiled_with(Path("ab12/add.ttir"))     (80, {"num_warps": 8, "num_stages": 3, ...})      as Triton noted it in ab12/add.json
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

from minitriton.commands.inferred_signature import inferred_signature, signature_for
from minitriton.commands.kernel_files import load_kernel, load_plugin
from minitriton.commands.shared_options import edited
from minitriton.commands.signature import ast_source
from minitriton.dialects.context import make_context
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.read_files import leave_out
from minitriton.host.damaged_files import parse_json, read_regular
from minitriton.host.whole_file import write_whole
from minitriton.lab import corpus
from minitriton.lab.arguments import array_of
from minitriton.lab.command import grid_of, launch_arguments, named
from minitriton.lab.execution import Launch
from minitriton.lab.launches.recorded import RecordedLaunch, read_launch
from minitriton.lab.launches.replay import replayed, source_of
from minitriton.lab.parameters import architecture_of, parameters_of
from minitriton.pipeline import stages
from minitriton.pipeline.ast_source import ASTSource
from minitriton.pipeline.compile_source import compile_request
from minitriton.pipeline.ir_source import IRSource
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Property, load_own_passes
from minitriton.pipeline.request import Request, environment_switches, overrides_for_source
from minitriton.target import CompileOptions, GPUTarget, arch_named, default_arch, options_for, target_named

_STAGES = (".ttir", ".ttgir")
MOST_KERNELS = 8
"""Kernels that are opened together."""


def kernels_in(folder: Path) -> list[Path]:
    """A file for each kernel below `folder`, the newest first. Raises `MinitritonError` where there is none."""
    found: dict[tuple[Path, str], Path] = {}
    for suffix in reversed(_STAGES):
        for path in folder.rglob(f"*{suffix}"):
            found[path.parent, path.stem] = path
    if not found:
        raise MinitritonError(
            f"no .ttir and no .ttgir below {folder}",
            help="name a cache folder of Triton's (~/.triton/cache), a dump, or Inductor's output (/tmp/torchinductor_USER)",
        )
    return sorted(found.values(), key=lambda path: (-path.stat().st_mtime, str(path)))


_OPTIONS = (
    "num_warps", "num_ctas", "num_stages", "maxnreg", "enable_fp_fusion", "launch_cooperative_grid",
    "sanitize_overflow",
)  # fmt: skip


def compiled_with(path: Path) -> tuple[int | str | None, dict[str, int | bool]]:
    """The architecture and compile options that Triton noted for the kernel of a stage's file; None and nothing where it did not."""
    try:
        noted = parse_json(read_regular(path.with_suffix(".json")))
        target = noted["target"]
        return arch_named(str(target["arch"])), {name: noted[name] for name in _OPTIONS if noted.get(name) is not None}
    except (OSError, ValueError, KeyError, TypeError):
        return None, {}


DEFAULT_GRID = "2"


@dataclass
class RequestedProgram:
    """What a `CompileRequest` names. `task`: of a kernel of the corpus, its own launch; `recorded`: the launch that was recorded."""

    asked: CompileRequest
    source: Any
    target: GPUTarget
    options: CompileOptions
    task: Any = None
    recorded: RecordedLaunch | None = None
    default_warps: int | None = None
    """Before more were chosen for the tiles, which Triton does not do."""
    _sizes: dict[str, object] = field(default_factory=dict[str, object], repr=False)
    """The elements of each array that was made up: found once, by runs."""

    @property
    def made_up(self) -> str:
        """The signature that was made up, where a kernel was given none."""
        if self.asked.signature or self.task is not None or self.recorded is not None:
            return ""
        kernel: Any = self.source.fn if isinstance(self.source, ASTSource) else None
        return "" if kernel is None else inferred_signature(kernel).text

    def default_pipeline(self) -> Pipeline:
        """The target's passes, from where the source stands."""
        return stages.default_pipeline(self.target, self.options, self.source.ext)

    @cached_property
    def facts(self) -> frozenset[Property]:
        """What holds before the first pass."""
        value = self.source.make_ir(self.target, self.options, make_context())
        return stages.properties_of(value, self.source.ext, self.target)

    def pipeline(self) -> Pipeline:
        """The passes asked for. Raises `PipelineError`, for an order that breaks a contract too unless it is to run anyway."""
        asked = self.asked
        pipeline = Pipeline.parse(asked.pipeline) if asked.pipeline else self.default_pipeline()
        pipeline = edited(pipeline, list(asked.edits))
        if not asked.anyway:
            pipeline.check(self.facts)
        return pipeline

    def launch(self) -> Launch:
        """A launch with the inputs asked for, those of the corpus, or made-up ones."""
        asked = self.asked
        if self.recorded is not None:
            return replayed(
                self.recorded, self.source, self.target, self.options, grid=grid_of(asked.grid) if asked.grid else None,
                numbers=named(list(asked.numbers)), inputs=asked.inputs, seed=asked.seed, sizes=named(list(asked.sizes)),
            )  # fmt: skip
        is_own = asked.grid is None and not (asked.numbers or asked.sizes or asked.inputs)
        if self.task is not None and is_own:
            launch = self.task.launch()
            return Launch.of(self.source, launch.arguments, launch.grid, self.target, self.options)
        grid = grid_of(asked.grid or DEFAULT_GRID)
        arguments = launch_arguments(
            self.source, parameters_of(self.source), grid, self.target, self.options,
            sizes=self._sizes or named(list(asked.sizes)), numbers=named(list(asked.numbers)), inputs=asked.inputs, seed=asked.seed,
        )  # fmt: skip
        self._sizes = {
            one.name: array.size
            for one in arguments.passed
            if one.type_name.startswith("*") and (array := array_of(one.value)) is not None
        }
        return Launch.of(self.source, arguments, grid, self.target, self.options)


def open_program(asked: CompileRequest) -> RequestedProgram:
    """The program. Raises `MinitritonError` where there is none, at the kernel's line where its file fails."""
    load_own_passes()
    for path in asked.loads:
        load_plugin(path)
    given = named(list(asked.options))
    recorded = read_launch(asked.launch) if asked.launch else None
    task, known, arch = None, {}, asked.arch
    if recorded is not None:
        known, arch = recorded.options, arch or recorded.arch
    if asked.source.endswith((".ttir", ".ttgir", ".llir", ".ptx", ".gluon")):
        source = _ir_source(asked)
        noted, options = (None, {}) if recorded else compiled_with(Path(asked.source))
        known, arch = {**known, **options}, arch or _architecture(source) or noted
    elif ".py" in asked.source:
        source = _kernel_source(asked, recorded)
    elif recorded is not None:
        raise MinitritonError(
            "a kernel of the corpus has its own launch", help="name FILE.py:kernel, or none, with --launch"
        )
    else:
        task, known = _of_corpus(asked)
        source = task.source
    target = target_named(arch or default_arch())
    said = {**source.parse_options(), **given}
    is_open = "num_warps" not in said and "choose_warps" in options_for(target).LAUNCHED
    if is_open and {**known, **said}.get("choose_warps"):
        known = {name: value for name, value in known.items() if name != "num_warps"}  # chosen anew, with the reason
    options = options_for(target, **{**known, **said})
    chosen = _with_chosen_warps(source, target, options) if getattr(options, "choose_warps", False) else options
    return RequestedProgram(asked, source, target, chosen, task, recorded, default_warps=options.num_warps)


def _with_chosen_warps(source: Any, target: GPUTarget, options: CompileOptions) -> CompileOptions:
    """`options` with the warps that a launch without `num_warps` takes."""
    request = Request(source, target, options, environment_switches(target), overrides_for_source(source, options))
    try:
        compiled = compile_request(request, make_context(), [], Path(), until="ttir")
    except MinitritonError:
        return options  # The compile that is shown says it.
    return replace(options, num_warps=cast("int", compiled.metadata["num_warps"]))


def _ir_source(asked: CompileRequest) -> Any:
    return IRSource(_with_text(asked, asked.source), make_context())


def _architecture(source: Any) -> int | str | None:
    return architecture_of(source)


def _of_corpus(asked: CompileRequest) -> tuple[Any, dict[str, Any]]:
    case = corpus.find(asked.source)
    corpus.require_own_launch(asked.source, {"--signature": asked.signature})
    task = corpus.task(asked.source, seed=asked.seed, arch=asked.arch or default_arch())
    if asked.kernel_text is not None:
        raise MinitritonError(
            "the text of a kernel of the corpus cannot be edited here",
            help="copy it into a file of your own and open that, as FILE.py:kernel",
        )
    return task, dict(case.launch_options)


def _kernel_source(asked: CompileRequest, recorded: RecordedLaunch | None) -> Any:
    path, colon, name = asked.source.partition(":")
    try:
        kernel = load_kernel(_with_text(asked, path) + colon + name)
    except MinitritonError as error:
        if recorded is not None and asked.kernel_text is None:
            kept = f"{recorded.ir} --launch {recorded.folder}"
            error.help = f"{error.help}; the kernel's IR was stored, and can be opened in place of the file: {kept}"
        raise
    if recorded is not None and not asked.signature:
        return source_of(recorded, kernel, named(list(asked.numbers)))
    if asked.signature or _is_first(asked.source):
        return ast_source(kernel, signature_for(kernel, asked.signature))
    return ast_source(kernel, inferred_signature(kernel).text)


def _is_first(source: str) -> bool:
    """Whether no other process of a server has said yet what it made up for `source`."""
    if not _shared:
        return True
    try:
        Path(_shared[0], f"said-{hashlib.sha256(source.encode()).hexdigest()[:16]}").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _with_text(asked: CompileRequest, path: str) -> str:
    """The path of the file: of an edited one, of a copy with its text, in a folder of its own that goes with the process. Several processes
    may write the same copy, and Python reads it again for the source of each of its functions: so it is seen whole at any time."""
    if asked.kernel_text is None:
        return path
    folder = Path(_scratch()) / hashlib.sha256(asked.kernel_text.encode()).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    copy = folder / Path(path).name
    write_whole(copy, asked.kernel_text.encode())
    return str(copy)


_shared: list[str] = []


def write_edited_kernels_to(folder: str) -> None:
    """Makes this process write them there, instead of to a folder of its own: processes then agree on the paths of edited files."""
    _shared[:] = [folder]
    leave_out(folder)


def _scratch() -> str:
    return _shared[0] if _shared else _own_scratch().name


@cache
def _own_scratch() -> tempfile.TemporaryDirectory[str]:
    made: tempfile.TemporaryDirectory[str] = tempfile.TemporaryDirectory(prefix="minitriton-explorer-")
    leave_out(made.name)
    return made
