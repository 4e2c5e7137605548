"""`minitriton compile`: a kernel or IR text to any stage, with the pipeline as it is or edited."""

from __future__ import annotations

import argparse
import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minitriton.as_triton.compiler import CompiledKernel, compile
from minitriton.commands.inferred_signature import signature_for
from minitriton.commands.kernel_files import is_corpus_name, load_kernel
from minitriton.commands.shared_options import add_arch, add_json, add_pipeline_edits, edited, print_json
from minitriton.commands.signature import ast_source
from minitriton.commands.signature_text import literal
from minitriton.dialects.text import shown
from minitriton.errors import MinitritonError
from minitriton.host.subcommands import Subcommands, write_output
from minitriton.pipeline.pass_manager import Hook, Snapshots, Statistics, Timings, VerifyEach
from minitriton.pipeline.pipelines import whole_pipeline
from minitriton.pipeline.request import environment_switches
from minitriton.target import GPUTarget, default_arch, options_for, target_named
from minitriton.target.backends import ALL_STAGES, STAGES, backend, stages_of

if TYPE_CHECKING:
    from minitriton.lab.parameters import Source
    from minitriton.runtime.jit import JITFunction

EMITTED = (*ALL_STAGES, "sass", "amdgcn", "hsaco", "pipeline")


def add_compile_command(commands: Subcommands) -> None:
    """Adds the subcommand to an `argparse` set of them."""
    compile = commands.add_parser("compile", help="compile a kernel, or IR text, and print a stage")
    compile.add_argument(
        "source", help="FILE.py:kernel, a .ttir, .ttgir, .gluon, .llir or .ptx file, or a name of `minitriton corpus`"
    )
    compile.add_argument(
        "--signature",
        default="",
        help="argument types in order: TYPE[:16], NAME=TYPE[:16] or NAME=VALUE (constexpr), comma-separated",
    )
    compile.add_argument(
        "--emit", choices=EMITTED, metavar="STAGE", help=", ".join(EMITTED) + "; default: the target's assembly"
    )
    add_arch(compile)
    compile.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="compile option, e.g. num_warps=8"
    )
    compile.add_argument("--pipeline", help="a textual pipeline that replaces the target's own")
    add_pipeline_edits(compile)
    compile.add_argument("-o", "--output", help="file to write (default: standard output)")
    compile.add_argument("--timings", action="store_true", help="print the time of each pass")
    compile.add_argument("--statistics", action="store_true", help="print the number of ops after each pass")
    compile.add_argument("--print-after-each", action="store_true", help="print the IR after each pass that changed it")
    compile.add_argument("--verify-each", action="store_true", help="verify the IR after each pass")
    compile.add_argument("--load", action="append", metavar="FILE.py", help="a file that registers more passes")
    add_json(compile)
    compile.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compiles and writes the stage asked for."""
    target = target_named(arguments.arch or default_arch())
    arguments.emit = arguments.emit or backend(target.backend).text_stage
    options = {name: literal(value) for name, _, value in (o.partition("=") for o in arguments.option)}
    source: Source | str = arguments.source
    if arguments.source.partition(":")[0].endswith(".py"):
        kernel = load_kernel(arguments.source)
        if (own := None if arguments.signature else _as_launched(arguments.source, kernel, target)) is not None:
            source, options = own[0], {**own[1], **options}
        else:
            source = ast_source(kernel, signature_for(kernel, arguments.signature))
    elif is_corpus_name(arguments.source):
        from minitriton.lab import corpus

        corpus.require_own_launch(arguments.source, {"--signature": arguments.signature})
        source = corpus.task(arguments.source, arch=target.arch).source
        options = {**corpus.find(arguments.source).launch_options, **options}
    report = _Report(arguments)
    hooks = report.hooks()
    if arguments.pipeline:
        options["pipeline"] = arguments.pipeline
        # A pass may print: a cached result would hide it.
        hooks = hooks or [Hook()]
    if arguments.edits:
        default = whole_pipeline(target, options_for(target, **options), environment_switches())
        options["pipeline"] = str(edited(default, arguments.edits))
        hooks = hooks or [Hook()]
    try:
        kernel = compile(source, target, options, hooks=hooks, until=_last_stage(arguments.emit, target, hooks))
    finally:
        if not arguments.json:
            report.print()
    if arguments.json:
        _print_json(arguments, kernel, report)
        return 0
    if arguments.emit == "pipeline":
        _write(arguments, kernel.metadata.pipeline)
    elif _is_missing(arguments.emit, kernel):
        raise MinitritonError(
            f"this compile lacks stage {arguments.emit!r}", help="its stages: " + ", ".join(kernel.asm)
        )
    else:
        _write(arguments, kernel.asm[arguments.emit])
    return 0


def _as_launched(name: str, kernel: JITFunction, target: GPUTarget) -> tuple[Source, dict[str, Any]] | None:
    """What the launch that the kernel's own file makes compiles, and with which options; None for a file that makes none."""
    from minitriton.lab.launches.own_launch import own_launch
    from minitriton.lab.launches.replay import source_of

    found = own_launch(name)
    if found is None:
        return None
    print(f"as {name.partition(':')[0]} launches it (--signature says otherwise)", file=sys.stderr)
    known = vars(options_for(target))
    return source_of(found, kernel, {}), {name: value for name, value in found.options.items() if name in known}


def _is_missing(stage: str, kernel: CompiledKernel) -> bool:
    """Whether the compile lacks a stage and cannot make it: machine code is made when it is asked for."""
    found = backend(kernel.metadata.target.backend)
    made_when_asked = stage in found.stages_when_asked or (stage == "sass" and found.binary == "cubin")
    return stage not in kernel.asm and not made_when_asked


def _print_json(arguments: argparse.Namespace, kernel: CompiledKernel, report: _Report) -> None:
    """The stage (a cubin in base64), the pipeline, and what was asked for of the passes."""
    stage: str = arguments.emit
    if stage != "pipeline" and _is_missing(stage, kernel):
        raise MinitritonError(f"this compile lacks stage {stage!r}", help="its stages: " + ", ".join(kernel.asm))
    content = str(kernel.metadata.pipeline) if stage == "pipeline" else kernel.asm[stage]
    if arguments.output:
        _write(arguments, content)
    text = base64.b64encode(content).decode() if isinstance(content, bytes) else content
    print_json({
        "kernel": kernel.name, "arch": kernel.metadata.target.arch, "stage": arguments.emit, "text": text, "pipeline": kernel.metadata.pipeline,
        "output": arguments.output, "milliseconds": [(name, 1e3 * seconds) for name, seconds in report.timings.seconds],
        "ops": [(name, sum(counts.values())) for name, counts in report.statistics.counts],
        "states": report.snapshots.texts,
    })  # fmt: skip


def _last_stage(emitted: str, target: GPUTarget, hooks: list[Hook]) -> str | None:
    """After which stage nothing needs to be run for `emitted`. The pipeline is known before any pass has run."""
    if emitted == "pipeline":
        return None if hooks else STAGES[0]
    return emitted if emitted in stages_of(target.backend) else None


class _Report:
    """What `compile` shows of the passes in addition to its result: a failing pass does not keep it from being printed."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.timings, self.statistics = Timings(), Statistics()
        self.snapshots = Snapshots(shown, only_changes=True)

    def hooks(self) -> list[Hook]:
        """The hooks that the command line asks for."""
        given = self.arguments
        wanted: list[tuple[bool, Hook]] = [
            (given.timings, self.timings),
            (given.statistics, self.statistics),
            (given.print_after_each, self.snapshots),
            (given.verify_each, VerifyEach()),
        ]
        return [hook for is_wanted, hook in wanted if is_wanted]

    def print(self) -> None:
        """The IR after each pass to standard output, tables to standard error."""
        for name, text in self.snapshots.texts:
            print(f"// ----- after {name}\n{text}")
        if self.arguments.timings:
            print(self.timings.table(), file=sys.stderr)
        for name, counts in self.statistics.counts:
            print(f"{sum(counts.values()):6} ops after {name}", file=sys.stderr)


def _write(arguments: argparse.Namespace, content: str | bytes) -> None:
    if arguments.output:
        write_output(Path(arguments.output), content)
    elif isinstance(content, bytes):
        if sys.stdout.isatty():
            raise MinitritonError(
                f"{arguments.emit} is binary, and standard output is a terminal", help="write it to a file by -o FILE"
            )
        sys.stdout.buffer.write(content)
    else:
        print(content)
