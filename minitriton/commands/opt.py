"""`minitriton-opt`: passes over IR text, with the command line of `triton-opt`.

    minitriton-opt k.ttir -convert-triton-to-tritongpu='target=cuda:90 num-warps=4' -tritongpu-coalesce
    minitriton-opt k.ttir --pass-pipeline='builtin.module(inline,canonicalize{...})' -split-input-file -o out.mlir
    minitriton-opt --run-reproducer crash.repro.mlir

Every flag that is no option of the tool is the name of a pass; passes run in the order of the command line.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from minitriton.codegen.assembled_code import Cubin
from minitriton.commands.kernel_files import load_plugin
from minitriton.commands.shared_options import until_the_reader_leaves
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module, shown
from minitriton.errors import MinitritonError, PipelineError
from minitriton.host.source_text import give_folder_of
from minitriton.host.whole_file import write_whole
from minitriton.pipeline.pass_manager import (
    Hook,
    PassManager,
    Pipeline,
    Snapshots,
    Timings,
    VerifyEach,
    read_reproducer,
)
from minitriton.pipeline.pass_registry import Property, Step, load_own_passes
from minitriton.pipeline.pipeline_spec import make_step, parse_options_text, parse_pipeline

USAGE = """usage: minitriton-opt [FILE | -] [-PASS | -PASS=OPTIONS | -PASS{OPTIONS}]... [OPTION]...

  --pass-pipeline=TEXT          passes as one textual pipeline, with or without builtin.module(...)
  -split-input-file             treat each part between `// -----` lines as a module of its own
  -verify-diagnostics           check the errors against `expected-error` comments instead of printing the IR
  -mlir-print-debuginfo         print source locations
  -o FILE                       write to FILE instead of standard output; the machine code, where the last pass is assemble-ptx
  --run-reproducer              the file starts with the pipeline to run (as written for a failing pass)
  --reproducer=FILE             where to write a reproducer if a pass fails
  --verify-each                 verify the IR after each pass
  --mlir-print-ir-after-all     print the IR after each pass to standard error
  --mlir-timing                 print the time of each pass to standard error
  --load FILE.py                import a file that registers passes
Flags of triton-opt that change nothing here are accepted: -allow-unregistered-dialect, -mlir-print-local-scope, ...
"""

_IGNORED = {
    "allow-unregistered-dialect", "mlir-print-local-scope", "mlir-disable-threading", "mlir-use-nameloc-as-prefix",
    "debug-only", "debug",
}  # fmt: skip

_SPLIT = re.compile(r"^// ?-----.*$", re.MULTILINE)
_EXPECTED = re.compile(
    r"expected-(error|warning|remark|note)(-re)?\s*(@[+-]?\w+)?\s*(\d*)\s*\{\{((?:\{\{.*?\}\}|.)*?)\}\}"
)


@dataclass
class Invocation:
    """A parsed command line."""

    file: str = "-"
    steps: list[Step] = field(default_factory=list[Step])
    output: str | None = None
    split: bool = False
    verify_diagnostics: bool = False
    debug_info: bool = False
    run_reproducer: bool = False
    reproducer: Path | None = None
    verify_each: bool = False
    print_after_all: bool = False
    timing: bool = False


def parse_arguments(arguments: list[str]) -> Invocation:
    """The invocation that `arguments` spell. Raises `PipelineError` for unknown passes, options and flags."""
    found = Invocation()
    pending = list(arguments)
    while pending:
        argument = pending.pop(0)
        if not argument.startswith("-") or argument == "-":
            found.file = argument
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        if "{" in name:
            found.steps.extend(parse_pipeline(argument.lstrip("-")))
            continue
        if name in ("o", "load", "reproducer") and not equals:
            if not pending:
                raise PipelineError(f"{argument} needs a file name")
            value = pending.pop(0)
        if name == "load":
            load_plugin(value)
        elif not _take_option(found, name, value):
            found.steps.append(make_step(name, parse_options_text(_unquoted(value)) if equals else {}))
    return found


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _take_option(found: Invocation, name: str, value: str) -> bool:
    """Takes an option of the tool; False if `name` is none."""
    switches = {
        "split-input-file": "split", "verify-diagnostics": "verify_diagnostics", "mlir-print-debuginfo": "debug_info",
        "run-reproducer": "run_reproducer", "verify-each": "verify_each", "mlir-print-ir-after-all": "print_after_all",
        "mlir-timing": "timing",
    }  # fmt: skip
    if name in switches:
        setattr(found, switches[name], True)
    elif name == "o":
        found.output = value
    elif name == "reproducer":
        found.reproducer = Path(value)
    elif name == "pass-pipeline":
        inner = re.fullmatch(r"\s*(?:builtin\.module|any)\((.*)\)\s*", _unquoted(value), re.DOTALL)
        found.steps.extend(parse_pipeline(inner[1] if inner else _unquoted(value)))
    else:
        return name in _IGNORED
    return True


def split_chunks(text: str) -> list[str]:
    """The parts of `text` between `// -----` lines, each padded so that its line numbers stay those of the file."""
    chunks: list[str] = []
    line = 0
    for part in _SPLIT.split(text):
        chunks.append("\n" * line + part)
        line += part.count("\n")
    return chunks


def run_chunk(text: str, name: str, invocation: Invocation, hooks: list[Hook]) -> str | bytes:
    """The text of one module after the passes, or what a translation made of it: of machine code a table of the limits of registers that were tried, or,
    for a file, the code. Raises `MinitritonError`s.

    Steps that start from LLVM IR or PTX, as the reproducer of a late step does, are given `text` as it is.
    """
    steps = tuple(invocation.steps)
    starts_late = bool(steps) and bool({Property.LLVM_IR, Property.PTX} & steps[0].requires)
    manager = PassManager(Pipeline(steps), hooks, invocation.reproducer)
    value = manager.run(make_context(), text if starts_late else parse_module(text, name))
    if isinstance(value, Cubin):
        return value if invocation.output else value.table()
    return print_module(value, locations=invocation.debug_info) if isinstance(value, ModuleOp) else str(value)


def check_diagnostics(text: str, error: MinitritonError | None) -> list[str]:
    """What differs between the errors that a chunk expects and the one it raised."""
    expected: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        for kind, is_pattern, relative, _, message in _EXPECTED.findall(line):
            if kind == "error":
                offset = relative[1:] if relative else "0"
                pattern = _pattern_of(message) if is_pattern else re.escape(message)
                expected.append((number + int(offset) if re.fullmatch(r"[+-]?\d+", offset) else 0, pattern))
    if error is None:
        return [f"line {line}: expected an error that contains {pattern!r}" for line, pattern in expected]
    if not expected:
        return [f"unexpected error: {error}"]
    if not any(re.search(pattern, str(error), re.DOTALL) for _, pattern in expected):
        return [f"got {error}\nexpected one that contains {pattern!r}" for _, pattern in expected]
    return []


def _pattern_of(message: str) -> str:
    """The regular expression of an `expected-error-re`: what stands in double braces is one, the rest is text."""
    return "".join(
        part if number % 2 else re.escape(part) for number, part in enumerate(re.split(r"\{\{(.*?)\}\}", message))
    )


def run(invocation: Invocation, text: str) -> tuple[str | bytes, list[str]]:
    """The output, and the problems found (errors, or mismatches with `-verify-diagnostics`)."""
    name = "<stdin>" if invocation.file == "-" else invocation.file
    timings = Timings()
    hooks: list[Hook] = []
    if invocation.timing:
        hooks.append(timings)
    if invocation.verify_each:
        hooks.append(VerifyEach())
    snapshots = Snapshots(shown)
    if invocation.print_after_all:
        hooks.append(snapshots)
    printed: list[str | bytes] = []
    problems: list[str] = []
    for chunk in split_chunks(text) if invocation.split else [text]:
        error: MinitritonError | None = None
        try:
            printed.append(run_chunk(chunk, name, invocation, hooks))
        except MinitritonError as caught:
            error = caught
        if invocation.verify_diagnostics:
            problems.extend(check_diagnostics(chunk, error))
        elif error is not None:
            problems.append(str(error))
    for step, after in snapshots.texts:
        print(f"// -----// IR Dump After {step} //----- //\n{after}", file=sys.stderr)
    if invocation.timing:
        print(timings.table(), file=sys.stderr)
    if len(printed) == 1:
        return printed[0], problems
    if any(isinstance(each, bytes) for each in printed):
        problems.append("one file takes the machine code of one module: leave out -split-input-file")
    return "\n// -----\n".join(map(str, printed)), problems


def main(argv: list[str] | None = None) -> int:
    """The command. Exit code 1 if a chunk failed, 2 for a wrong command line."""
    load_own_passes()
    with until_the_reader_leaves():
        return _main(sys.argv[1:] if argv is None else argv)
    return 0


def _main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    invocation = Invocation()
    try:
        invocation = parse_arguments(arguments)
        if invocation.run_reproducer:
            pipeline, text = read_reproducer(Path(invocation.file))
            invocation.steps.extend(pipeline.steps)
        else:
            give_folder_of(invocation.file)
            text = sys.stdin.read() if invocation.file == "-" else Path(invocation.file).read_text("utf-8")
    except OSError as error:
        print(f"cannot read {invocation.file}: {error.strerror}", file=sys.stderr)
        return 2
    except UnicodeDecodeError as error:
        print(f"cannot read {invocation.file}: byte {error.start} is not UTF-8 text", file=sys.stderr)
        return 2
    except MinitritonError as error:
        print(error, file=sys.stderr)
        return 2
    output, problems = run(invocation, text)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not invocation.verify_diagnostics:
        if not invocation.output:
            print(output)
            return 1 if problems else 0
        try:
            write_whole(Path(invocation.output), output if isinstance(output, bytes) else output + "\n")
        except OSError as error:
            print(f"cannot write {invocation.output}: {error.strerror}", file=sys.stderr)
            return 2
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
