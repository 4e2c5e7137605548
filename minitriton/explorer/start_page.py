"""What the explorer offers where nothing was opened, and whether there is what somebody names.

catalogue()                                    recently opened kernels, the examples, the corpus by family
require_program(CompileRequest("nosuch"))      an error with the closest name
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from minitriton import knobs
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.wire import GroupJson, OfferedJson
from minitriton.host.whole_file import write_whole

_MOST_RECENT = 12
_EXAMPLES = ("Kernels in Triton", "."), ("Kernels in Gluon", "gluon")
_FOR_TESTS = {"cases", "matrix", "mutated", "specialized", "three_arguments"}
"""Files whose kernels tests make variants of."""


def require_program(asked: CompileRequest) -> None:
    """Raises `MinitritonError` where no file, no kernel of a file, or no kernel of the corpus has the name."""
    file, _, kernel = asked.source.partition(":")
    path = Path(file)
    if path.suffix in (".py", ".ttir", ".ttgir", ".llir", ".ptx", ".gluon"):
        if asked.kernel_text is None and not path.is_file():
            raise MinitritonError(f"no such file: {file}", help="name a kernel as FILE.py:kernel")
        text = ""
        if path.suffix == ".py":
            text = path.read_text("utf-8", "replace") if asked.kernel_text is None else asked.kernel_text
        found = [name for name, _ in _kernels_in(text)]
        if kernel and text and not re.search(rf"\b{re.escape(kernel)}\b", text):
            raise MinitritonError(f"{file} lacks kernel {kernel!r}", help="it has: " + (", ".join(found) or "none"))
        if text and not kernel and len(found) > 1:
            raise MinitritonError(
                f"{file} has {len(found)} kernels", help=f"write {file}:KERNEL with one of: {', '.join(found)}"
            )
        _require_signature(asked.signature, text, file, kernel or "".join(found))
    else:
        from minitriton.lab import corpus

        corpus.find(asked.source)
        corpus.require_own_launch(asked.source, {"--signature": asked.signature})
    _require_options(asked)


def _require_options(asked: CompileRequest) -> None:
    """Raises `MinitritonError` for an architecture, compile options or a launch that no program can be given."""
    from minitriton.lab.command import grid_of, named, sizes_of
    from minitriton.target import default_arch, options_for, target_named

    target = target_named(asked.arch or default_arch())
    if asked.options and (asked.arch or not asked.launch):
        options_for(target, **named(list(asked.options)))
    named(list(asked.numbers))
    sizes_of(list(asked.sizes))
    if asked.grid:
        grid_of(asked.grid)
    if asked.inputs and not Path(asked.inputs).is_file():
        raise MinitritonError(f"no such file: {asked.inputs}", help="--inputs takes what numpy.savez wrote")


def _require_signature(signature: str, text: str, file: str, kernel: str) -> None:
    """Raises `MinitritonError`, at the kernel's `def`, for a signature that it cannot have. What its file computes is not asked: it is not run."""
    if not signature:
        return
    from minitriton.commands.signature_text import check_signature

    for node in _functions_in(text):
        if node.name != kernel:
            continue
        parameters = [*node.args.posonlyargs, *node.args.args]
        names = [one.arg for one in parameters]
        constants = {one.arg for one in parameters if one.annotation and "constexpr" in ast.unparse(one.annotation)}
        # Other decorators than `jit` give what a signature leaves out.
        needed = names[: len(names) - len(node.args.defaults)] if len(node.decorator_list) == 1 else []
        try:
            check_signature(signature, names, constants=constants, needed={*needed})
        except MinitritonError as error:
            error.location = SourceLocation(file, node.lineno)
            error.source_line = text.split("\n")[node.lineno - 1]
            raise


def _functions_in(text: str) -> list[ast.FunctionDef]:
    try:
        return [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    except SyntaxError:
        return []


def catalogue() -> list[GroupJson]:
    """Groups of kernels to open, those opened last first."""
    from minitriton.lab import corpus
    from minitriton.lab.corpus.case import KERNELS

    groups: list[GroupJson] = [{"title": "Opened before", "kernels": _recent()}]
    for title, folder in _EXAMPLES:
        files = [path for path in sorted((KERNELS / folder).glob("*.py")) if path.stem not in _FOR_TESTS]
        groups.append({"title": title, "kernels": [one for path in files for one in _of_file(path)]})
    for family in corpus.families():
        kernels: list[OfferedJson] = [
            {"title": case.name, "about": "", "asked": {"source": case.name}} for case in corpus.cases(family)
        ]
        groups.append({"title": f"Corpus: {family.replace('_', ' ')}", "kernels": kernels})
    return [group for group in groups if group["kernels"]]


def _of_file(path: Path) -> list[OfferedJson]:
    return [
        {"title": name, "about": f"{path.name}: {about}" if about else path.name, "asked": {"source": f"{path}:{name}"}}
        for name, about in _kernels_in(path.read_text("utf-8"))
    ]


def _kernels_in(text: str) -> list[tuple[str, str]]:
    """Kernels of a program that no other function of it calls, with the first line of what they say of themselves."""
    jitted = [one for one in _functions_in(text) if any("jit" in ast.unparse(each) for each in one.decorator_list)]
    called = {
        node.func.id
        for one in jitted
        for node in ast.walk(one)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    passed = {node.id for one in jitted for node in ast.walk(one) if isinstance(node, ast.Name)}
    return [
        (one.name, (ast.get_docstring(one) or "").partition("\n")[0])
        for one in jitted
        if one.name not in called | passed
    ]


def remember(asked: list[CompileRequest]) -> None:
    """Notes what was opened, for the next start page; of edited texts nothing."""
    new = [one.plain() for one in asked if one.kernel_text is None and not one.states]
    before = [one["asked"] for one in _recent() if one["asked"] not in new]
    path = _recent_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps([*new, *before][:_MOST_RECENT]))
    except OSError:  # a home that cannot be written: the page opens all the same
        return


def _recent() -> list[OfferedJson]:
    found: list[OfferedJson] = []
    try:
        for one in json.loads(_recent_file().read_text("utf-8")):
            asked = CompileRequest.of_plain(one)
            title = asked.source.rpartition(":")[2] if ":" in asked.source else Path(asked.source).name
            found.append(
                {"title": title, "about": asked.command().removeprefix("minitriton explore "), "asked": asked.plain()}
            )
    except (OSError, ValueError, TypeError, MinitritonError):
        return found
    return found


def _recent_file() -> Path:
    return Path(knobs.cache.dir) / "explorer-recent.json"
