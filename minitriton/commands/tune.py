"""`minitriton tune`: the configurations of a kernel from facts, the fastest by the model first, and why.

minitriton tune FILE.py:matmul --size M=4096,N=4096,K=4096 --arch 90
minitriton tune FILE.py:softmax --signature '*fp16:16,*fp16:16,i32:16,i32' --size n_cols=1000 --json
minitriton tune FILE.py:matmul --size M=4096,N=4096,K=4096 --html tiles.html           all of it as a page with tables
"""

from __future__ import annotations

import argparse
import json
import sys
from html import escape
from pathlib import Path
from typing import Any, TypedDict

from minitriton.commands.inferred_signature import inferred_signature
from minitriton.commands.kernel_files import load_kernel
from minitriton.commands.shared_options import add_arch, add_json, count_from
from minitriton.commands.signature import DIVISIBLE, ast_source
from minitriton.commands.signature_text import split_items
from minitriton.errors import MinitritonError, SourceLocation, did_you_mean
from minitriton.frontend.function import JITCallable
from minitriton.host.subcommands import Subcommands, write_output
from minitriton.pipeline.ast_source import ASTSource
from minitriton.runtime.jit import JITFunction
from minitriton.target import default_arch, target_named


def add_tune_command(commands: Subcommands) -> None:
    """Adds the subcommand to an `argparse` set of them."""
    tune = commands.add_parser("tune", help="tile sizes of a kernel from facts, the fastest by a model first")
    tune.add_argument("source", help="FILE.py:kernel")
    tune.add_argument(
        "--signature", default="", help="argument types as for `compile`; constants that it leaves out are searched"
    )
    tune.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=N,...",
        help="integer arguments, strides too: M=4096,N=4096,K=512",
    )
    add_arch(tune)
    tune.add_argument("--most", type=count_from(1), default=10, help="how many configurations to show")
    tune.add_argument(
        "--html", metavar="FILE", help="also writes a page: all configurations, and why others are dropped"
    )
    add_json(tune)
    tune.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the ranking. Exit code 0."""
    from minitriton.runtime.tuning.problem import problem_of_source, require_free_blocks
    from minitriton.runtime.tuning.ranking import rank

    kernel = load_kernel(arguments.source)
    sizes = sizes_of(arguments.size, kernel)
    fixed, free = _items(kernel, arguments.signature)
    for name, size in sizes.items():
        if fixed.get(name) == f"{name}=i32" and size == 1:
            fixed[name] = f"{name}=1"  # as a launch specializes it: a stride of 1 makes neighbours contiguous
        elif fixed.get(name) == f"{name}=i32" and size % DIVISIBLE == 0:
            fixed[name] += f":{DIVISIBLE}"

    def source_of(values: Any) -> ASTSource:
        items = {**fixed, **{name: f"{name}={value}" for name, value in values.items()}}
        return ast_source(kernel, ",".join(items[name] for name in kernel.arg_names if name in items))

    target = target_named(arguments.arch or default_arch())
    if target.backend != "cuda":
        raise MinitritonError(
            f"the model of time that ranks configurations knows NVIDIA's GPUs, not {target.arch}",
            SourceLocation(kernel.file_name, kernel.begin_line),
            help=f"search by what the emulator counts: minitriton search {arguments.source} --arch {target.arch} --vary num_warps=2,4,8",
        )
    require_free_blocks(kernel, {name: item.partition("=")[2] for name, item in fixed.items()})
    problem = problem_of_source(kernel, source_of, free, sizes, None, target)
    ranking = rank(problem)
    missing = [name for name, item in fixed.items() if name not in sizes and item.startswith(f"{name}=i")]
    made_up = missing_sizes(missing)
    if made_up:
        print(made_up, file=sys.stderr)
    if arguments.html:
        found = json.loads(ranking.explain(most=len(ranking), as_json=True))
        write_output(Path(arguments.html), _page(found, made_up))
    print(ranking.explain(most=arguments.most, as_json=arguments.json))
    return 0


_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em } table { border-collapse: collapse; margin: .6em 0 }
th, td { padding: .15em .7em; text-align: left; border-bottom: 1px solid #dde3ea } td.n { text-align: right; font-variant-numeric: tabular-nums }
"""
_COLUMNS = {
    "microseconds": "µs expected", "limit": "longest cause", "ctas": "CTAs", "waves": "waves", "ctas_on_sm": "CTAs on an SM",
    "shared_bytes": "shared bytes", "registers": "registers", "registers_spilled": "registers spilled", "instruction": "instruction",
}  # fmt: skip


def missing_sizes(names: list[str]) -> str:
    """What a search takes for sizes that nobody gave; "" without any."""
    from minitriton.runtime.tuning.model import UNKNOWN_SIZE

    unknown = f"without a size: {', '.join(names)}; an axis of unknown length counts as {UNKNOWN_SIZE}"
    return f"{unknown}, an unknown stride as not 1" if names else ""


class Tables(TypedDict):
    """What a search says, as tables: what it knows of constants and limits, configurations that fit, the fastest first, and dropped ones."""

    title: str
    said: list[str]
    head: list[str]
    rows: list[list[Any]]
    dropped_head: list[str]
    dropped: list[list[Any]]


def tables_of(found: dict[str, Any], made_up: str) -> Tables:
    """Of what `explain` says as JSON."""
    constants = list(dict.fromkeys(name for each in found["candidates"] for name in each["config"]))
    rows = [
        [
            number + 1,
            *(each["config"].get(name, "") for name in constants),
            *(each[name] for name in _COLUMNS),
            each["why"],
        ]
        for number, each in enumerate(found["candidates"])
    ]
    dropped = [[each[name] for name in ("config", "what", "needed", "limit", "why")] for each in found["dropped"]]
    said = [f"{name}: {what}" for name, what in found["roles"].items()]
    said.append("there are " + ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in found["limits"].items()))
    said += [made_up] if made_up else []
    title = ", ".join([f"{found['kernel']} for {found['target']}", *(f"{n}={v}" for n, v in found["sizes"].items())])
    return {
        "title": title, "said": said, "head": ["", *constants, *_COLUMNS.values(), "why"], "rows": rows,
        "dropped_head": ["configuration", "for", "needed", "limit", "why"], "dropped": dropped,
    }  # fmt: skip


def _page(found: dict[str, Any], made_up: str) -> str:
    """The tables as a page that needs nothing else."""
    made = tables_of(found, made_up)
    title = escape(made["title"])
    return (
        f"<!doctype html><meta charset='utf-8'><title>{title}</title><style>{_STYLE}</style><h1>{title}</h1><ul>"
        + "".join(f"<li>{escape(line)}</li>" for line in made["said"])
        + f"</ul><h2>{len(made['rows'])} configurations fit</h2>"
        + _table(made["head"], made["rows"])
        + f"<h2>{len(made['dropped'])} are dropped</h2>"
        + _table(made["dropped_head"], made["dropped"])
    )


def _table(head: list[str], rows: list[list[Any]]) -> str:
    def cell(value: object) -> str:
        if isinstance(value, int | float):
            return f"<td class=n>{value if isinstance(value, int) else format(value, '.2f')}</td>"
        return f"<td>{escape(str(value))}</td>"

    lines = ["<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows]
    return (
        "<table><tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>" + "\n".join(lines) + "</table>"
    )


def sizes_of(texts: list[str], kernel: JITCallable) -> dict[str, int]:
    """Integer arguments, as `M=4096,N=512` says them. Raises `MinitritonError` for another name or what is not a number."""
    found: dict[str, int] = {}
    for item in (item for text in texts for item in text.split(",")):
        name, equals, number = (part.strip() for part in item.partition("="))
        if name not in kernel.arg_names:
            raise MinitritonError(
                f"the kernel lacks a parameter {name!r}, given as --size {item}",
                help=f"{did_you_mean(name, kernel.arg_names)} parameters: {', '.join(kernel.arg_names)}".lstrip(),
            )
        if not equals or not number.isdigit():
            raise MinitritonError(f"--size {item!r} is not NAME=NUMBER", help="write it as M=4096")
        found[name] = int(number)
    return found


def _items(kernel: JITFunction, signature: str) -> tuple[dict[str, str], list[str]]:
    """Items of a signature by parameter, each as NAME=..., and the constants that are searched: those it leaves out, or nobody gave."""
    constants = {p.name: p for p in kernel.params if p.is_constexpr}
    items: dict[str, str] = {}
    searched: list[str] = []
    for item in split_items(signature or inferred_signature(kernel).text):
        name, equals, _ = item.partition("=")
        if not equals or name not in kernel.arg_names:
            name = next((n for n in kernel.arg_names if n not in items), "")
            item = f"{name}={item}"
        items[name] = item
    for name, parameter in constants.items():
        value = items.get(name, "").partition("=")[2]
        is_number = value.isdigit() or (
            name not in items and (not parameter.has_default or type(parameter.default) is int)
        )
        if (not signature or name not in items) and is_number:
            searched.append(name)
            items.pop(name, None)
    return items, searched
