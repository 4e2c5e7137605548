"""`minitriton`: compile a kernel to any stage, list the passes, watch a kernel go through the compiler.

minitriton compile FILE.py:kernel --signature '*fp32:16,*fp32:16,i32,BLOCK=1024' --emit ptx
minitriton compile kernel.ttgir --emit llir
minitriton passes [NAME]
minitriton check FILE.py:kernel --signature ...
minitriton sweep running_sums --orders 500 --jobs 2
minitriton diff FILE.py:kernel --signature ... --pass tritongpu-coalesce
minitriton fuzz --count 1000 --seed 1
minitriton demo
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import importlib.util
import linecache
import os
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from minitriton.commands.cache import add_cache_command
from minitriton.compilation.stages import STAGES
from minitriton.dialects.text import print_module
from minitriton.errors import MinitritonError, PipelineError, SourceLocation
from minitriton.explorer.command import add_explorer_commands
from minitriton.fuzz.command import add_fuzz_command
from minitriton.fuzz.mutation.command import add_mutate_command
from minitriton.lab.command import add_check_command
from minitriton.lab.sweeping.command import add_sweep_commands
from minitriton.pass_manager import Hook, Pipeline, Snapshots, Statistics, Timings, VerifyEach
from minitriton.target import known_architectures


def main(argv: list[str] | None = None) -> int:
    """Runs the command. Exit code 1 for an error in the input, 2 for a wrong command line."""
    arguments = _parser().parse_args(argv)
    with until_the_reader_leaves():
        try:
            for path in getattr(arguments, "load", None) or []:
                load_plugin(path)
            return arguments.run(arguments)
        except MinitritonError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


@contextlib.contextmanager
def until_the_reader_leaves() -> Iterator[None]:
    """Lets the output end where its reader stops reading, as in `minitriton compile ... | head`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes standard output once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="minitriton", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"minitriton {_version()}, compatible with Triton 3.6.0")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    compile = commands.add_parser("compile", help="compile a kernel, or IR text, and print a stage")
    compile.add_argument("source", help="FILE.py:kernel, or a .ttir, .ttgir, .llir or .ptx file")
    compile.add_argument(
        "--signature",
        default="",
        help="argument types in order: TYPE[:16], NAME=TYPE[:16] or NAME=VALUE (constexpr), comma-separated",
    )
    compile.add_argument("--emit", default="ptx", choices=EMITTED, metavar="STAGE", help=", ".join(EMITTED))
    compile.add_argument("--arch", type=int, default=90, help=f"compute capability times ten ({known_architectures()})")
    compile.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="compile option, e.g. num_warps=8"
    )
    compile.add_argument("--pipeline", help="a textual pipeline that replaces the target's own")
    _add_pipeline_edits(compile)
    compile.add_argument("-o", "--output", help="file to write (default: standard output)")
    compile.add_argument("--timings", action="store_true", help="print the time of each pass")
    compile.add_argument("--statistics", action="store_true", help="print the number of ops after each pass")
    compile.add_argument("--print-after-each", action="store_true", help="print the IR after each pass that changed it")
    compile.add_argument("--verify-each", action="store_true", help="verify the IR after each pass")
    compile.add_argument("--load", action="append", metavar="FILE.py", help="a file that registers more passes")
    compile.set_defaults(run=_compile)
    passes = commands.add_parser("passes", help="list the registered passes with their documentation")
    passes.add_argument("name", nargs="?", help="one pass, in full")
    passes.add_argument("--load", action="append", metavar="FILE.py", help="a file that registers more passes")
    passes.set_defaults(run=_passes)
    add_check_command(commands)
    add_cache_command(commands)
    add_sweep_commands(commands)
    add_explorer_commands(commands)
    add_fuzz_command(commands)
    add_mutate_command(commands)
    demo = commands.add_parser("demo", help="a kernel from Python to PTX to numbers")
    demo.add_argument("--full", action="store_true", help="print every stage in full")
    demo.set_defaults(run=_demo)
    return parser


def _version() -> str:
    """The installed one; a tree that is only on the path has none."""
    try:
        return importlib.metadata.version("minitriton")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def _add_pipeline_edits(command: argparse.ArgumentParser) -> None:
    where = "PASS may be canonicalize#2, the second of its name"
    for name, form, help in (
        ("--skip", "PASS", f"leave a pass out; {where}"),
        ("--move", "'PASS before|after PASS'", "put a pass elsewhere"),
        ("--insert", "'PASS{OPTIONS} before|after PASS'", "add a pass"),
    ):
        command.add_argument(name, action=_Edit, dest="edits", default=[], metavar=form, help=help)


class _Edit(argparse.Action):
    """Collects the changes of the pipeline in the order of the command line."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        namespace.edits = [*namespace.edits, ((option_string or "").removeprefix("--"), values)]


def edited(pipeline: Pipeline, edits: list[tuple[str, str]]) -> Pipeline:
    """`pipeline` after changes such as `("skip", "cse")` and `("move", "cse before sccp")`. Raises `PipelineError`."""
    for kind, text in edits:
        if kind == "skip":
            pipeline = pipeline.skip(text)
            continue
        found = re.fullmatch(r"\s*(.*?)\s+(before|after)\s+(\S+)\s*", text)
        if found is None:
            raise PipelineError(
                f"--{kind} {text!r} says not where", help=f"write --{kind} 'PASS before PASS', or after"
            )
        change = pipeline.move if kind == "move" else pipeline.insert
        pipeline = change(found[1], **{found[2]: found[3]})
    return pipeline


def load_plugin(path: str) -> None:
    """Imports a Python file that registers passes. Raises `MinitritonError` if it cannot be imported."""
    _import_file(path, "--load takes a Python file that registers passes")


def _import_file(path: str, help: str) -> ModuleType:
    """The module that file `path` makes. Raises `MinitritonError`, at the file's line where it fails."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).exists():
        raise MinitritonError(f"cannot load {path!r}", help=help)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(Path(path).stem, module)
    try:
        spec.loader.exec_module(module)
    except MinitritonError:
        raise
    except Exception as error:
        if sys.modules.get(Path(path).stem) is module:
            del sys.modules[Path(path).stem]
        raise _import_failure(path, error) from error
    return module


def _import_failure(path: str, error: Exception) -> MinitritonError:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == path]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return MinitritonError(
        f"{path} cannot be imported: {type(error).__name__}: {error}",
        SourceLocation(path, line) if line else None,
        help="see that `python` runs the file by itself",
        source_line=linecache.getline(path, line) if line else None,
    )


def load_kernel(reference: str) -> Any:
    """The kernel named by `FILE.py:kernel`; `import triton` in the file means minitriton."""
    from minitriton.run_as_triton import triton_means_minitriton
    from minitriton.runtime.jit import JITFunction

    path, _, name = reference.partition(":")
    if not Path(path).exists():
        raise MinitritonError(f"no such file: {path}", help="name a kernel as FILE.py:kernel")
    with triton_means_minitriton():
        module = _import_file(path, "name a kernel as FILE.py:kernel")
    kernels = {k: v for k, v in vars(module).items() if isinstance(v, JITFunction)}
    if not name and len(kernels) == 1:
        return next(iter(kernels.values()))
    if not name:
        raise MinitritonError(
            f"{path} has {len(kernels) or 'no'} kernels",
            help=f"write {path}:KERNEL with one of: {', '.join(kernels)}" if kernels else "decorate one by @triton.jit",
        )
    if name not in kernels:
        raise MinitritonError(f"{path} has no kernel {name!r}", help="it has: " + (", ".join(kernels) or "none"))
    return kernels[name]


def ast_source(kernel: Any, signature: str) -> Any:
    """The source for a signature such as `*fp32:16,i32,BLOCK=128`: `:16` says divisible by 16, `:1` equal to 1."""
    from minitriton.compiler import ASTSource

    types: dict[str, str] = {}
    constexprs: dict[str, Any] = {}
    attrs: dict[tuple[int, ...], Any] = {}
    names: list[str] = list(kernel.arg_names)
    for item in _split(signature):
        name, given, value = item.partition("=")
        if given and name in names and not _is_type(value):
            types[name], constexprs[name] = "constexpr", _literal(value)
            continue
        if given and name not in names:
            raise MinitritonError(
                f"the kernel has no parameter {name!r}, given as {item!r}", help="parameters: " + ", ".join(names)
            )
        free = [name] if given else [n for n in names if n not in types]
        if not free:
            raise MinitritonError(f"more types than parameters at {item!r}", help="parameters: " + ", ".join(names))
        kind, _, hint = (value if given else item).partition(":")
        if hint not in ("", "1", "16"):
            raise MinitritonError(
                f"unknown hint {hint!r} in {item!r}", help=":16 says divisible by 16, :1 says equal to 1"
            )
        types[free[0]] = "constexpr" if hint == "1" else kind
        if hint == "1":
            constexprs[free[0]] = 1
        elif hint == "16":
            attrs[(names.index(free[0]),)] = [["tt.divisibility", 16]]
    for parameter in kernel.params:
        if parameter.name not in types:
            if not parameter.has_default:
                raise MinitritonError(
                    f"no type given for parameter {parameter.name!r}", help="name all of: " + ", ".join(names)
                )
            types[parameter.name], constexprs[parameter.name] = "constexpr", parameter.default
    return ASTSource(kernel, {n: types[n] for n in names}, constexprs, attrs)


def _is_type(text: str) -> bool:
    """Whether the value of NAME=VALUE is the type of a parameter, as in `x=*fp16` or `n=i32:16`."""
    from minitriton.language.signatures import str_to_ty

    kind = text.partition(":")[0].strip()
    try:
        return kind.startswith("*") or (not kind.startswith("constexpr") and str_to_ty(kind) is not None)
    except MinitritonError:
        return False


def _split(text: str) -> list[str]:
    """Splits at commas outside of brackets."""
    parts, depth, current = [], 0, ""
    for c in text:
        depth += (c in "[(<{") - (c in "])>}")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    return [*parts, current.strip()] if current.strip() else parts


def _literal(text: str) -> Any:
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


EMITTED = (*STAGES, "cubin", "sass", "pipeline")


def _compile(arguments: argparse.Namespace) -> int:
    from minitriton.compiler import compile
    from minitriton.pipelines import pipeline_for
    from minitriton.target import CUDAOptions, GPUTarget

    target = GPUTarget("cuda", arguments.arch, 32)
    options = {name: _literal(value) for name, _, value in (o.partition("=") for o in arguments.option)}
    source: Any = arguments.source
    if source.partition(":")[0].endswith(".py"):
        source = ast_source(load_kernel(source), arguments.signature)
    report = _Report(arguments)
    hooks = report.hooks()
    if arguments.pipeline:
        options["pipeline"] = arguments.pipeline
        # A pass may print: a cached result would hide it.
        hooks = hooks or [Hook()]
    if arguments.edits:
        options["pipeline"] = str(
            edited(pipeline_for(target, CUDAOptions.for_target(target, **options)), arguments.edits)
        )
        hooks = hooks or [Hook()]
    try:
        kernel = compile(source, target, options, hooks=hooks, until=_last_stage(arguments.emit, hooks))
    finally:
        report.print()
    if arguments.emit == "pipeline":
        _write(arguments, kernel.metadata.pipeline)
    elif arguments.emit in STAGES and arguments.emit not in kernel.asm:
        raise MinitritonError(
            f"this compile has no stage {arguments.emit!r}", help="its stages: " + ", ".join(kernel.asm)
        )
    else:
        _write(arguments, kernel.asm[arguments.emit])
    return 0


def _last_stage(emitted: str, hooks: list[Hook]) -> str | None:
    """Behind which stage nothing needs to be run for `emitted`. The pipeline is known before any pass has run."""
    if emitted == "pipeline":
        return None if hooks else STAGES[0]
    return emitted if emitted in STAGES else None


class _Report:
    """What `compile` shows of the passes beside its result: a failing pass does not keep it from being printed."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.timings, self.statistics = Timings(), Statistics()
        self.snapshots = Snapshots(_readable, only_changes=True)

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


def _readable(value: Any) -> str:
    """A module without its locations; LLVM IR and PTX are text already."""
    return print_module(value) if isinstance(value, ModuleOp) else str(value)


def _write(arguments: argparse.Namespace, content: str | bytes) -> None:
    if arguments.output:
        try:
            Path(arguments.output).write_bytes(content if isinstance(content, bytes) else content.encode())
        except OSError as error:
            raise MinitritonError(
                f"cannot write {arguments.output}: {error.strerror}", help="-o takes the path of a file in a folder"
            ) from None
    elif isinstance(content, bytes):
        if sys.stdout.isatty():
            raise MinitritonError(
                f"{arguments.emit} is binary, and standard output is a terminal", help="write it to a file by -o FILE"
            )
        sys.stdout.buffer.write(content)
    else:
        print(content)


def _passes(arguments: argparse.Namespace) -> int:
    import dataclasses

    from minitriton.compilation.pipeline_spec import make_step
    from minitriton.pass_registry import known_passes

    known = known_passes()
    if arguments.name is None:
        for name in sorted(known):
            print(f"{name:45} {(known[name].__doc__ or '').strip().splitlines()[0]}")
        return 0
    if arguments.name not in known:
        make_step(arguments.name, {})
    cls = known[arguments.name]
    print(f"{cls.name}\n\n{(cls.__doc__ or '').strip()}\n")
    for f in dataclasses.fields(cls):
        kind = f.type if isinstance(f.type, str) else f.type.__name__
        print(f"  {f.name.replace('_', '-')}: {kind} = {f.default!r}")
    for label, facts in (("needs", cls.requires), ("establishes", cls.establishes), ("destroys", cls.destroys)):
        if facts:
            print(f"  {label}: {', '.join(sorted(facts))}")
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from minitriton.commands.demo import run

    return run(full=arguments.full)
