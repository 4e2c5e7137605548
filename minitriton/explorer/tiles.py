"""The tile sizes of the compile that is looked at, among all that its kernel could have: which fit, how long each takes by the model, and why.

tiles_of(program, "m=4096,n=4096,k=4096")["own"]      {"text": "number 12 of 690: 61.2 us expected, 1.22 times the first", "row": 11}

It is what `minitriton tune` says (`runtime.tuning`), of the types that the compile has, for the sizes that its launch has unless others are given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from minitriton.commands.signature import DIVISIBLE
from minitriton.commands.tune import constants_of, missing_sizes, ranking_of, require_nvidia, sizes_of, tables_of
from minitriton.errors import MinitritonError
from minitriton.explorer.program import RequestedProgram
from minitriton.explorer.wire import TilesJson
from minitriton.frontend.function import JITCallable
from minitriton.lab.arguments import array_of
from minitriton.lab.command import named
from minitriton.language.dtypes import dtype
from minitriton.pipeline.ast_source import ASTSource
from minitriton.runtime.autotuner import Config
from minitriton.runtime.jit import JITFunction
from minitriton.runtime.tuning.ranking import Ranking

_MOST = 100
"""Rows of each table that a page is given: `minitriton tune --html` has all."""


def tiles_of(program: RequestedProgram, given: str = "") -> TilesJson:
    """The ranking for sizes `given` as `NAME=N,...`. Raises `MinitritonError` for a kernel whose tile sizes cannot be searched."""
    source = program.source
    kernel = source.fn if isinstance(source, ASTSource) else None
    if not isinstance(kernel, JITFunction) or source.ext == "gluon":
        raise MinitritonError(
            "tile sizes are searched of kernels in Triton's Python, where they follow from constants",
            help="IR has its sizes, and a kernel in Gluon its layouts: change those",
        )
    require_nvidia(kernel, program.target, program.asked.source)
    sizes = sizes_of([given] if given else [], kernel) or _sizes_of_launch(program)
    ranking = ranking_of(source, sizes, program.target)
    constants, bound = constants_of(source), ranking.problem.sizes
    missing = [n for n, kind in source.signature.items() if n not in bound and str(kind).startswith("i")]
    found = json.loads(ranking.explain(most=_MOST, as_json=True))
    reasons = [{"what": what, "count": count} for what, count in ranking.reasons()]
    dropped = found["dropped"]
    found["dropped"] = [
        one
        for reason in reasons
        for one in [d for d in dropped if d["what"] == reason["what"]][: _MOST // len(reasons)]
    ]
    return {
        **tables_of(found, missing_sizes(missing)), "own": _own(ranking, constants, program), "reasons": reasons, "fit": len(ranking),
        "configs": [each["config"] for each in found["candidates"]], "sizes": ",".join(f"{n}={v}" for n, v in sizes.items()),
        "items": _items(source, constants),
    }  # fmt: skip


def _sizes_of_launch(program: RequestedProgram) -> dict[str, int]:
    """The numbers of a launch that somebody gave: made-up ones are no size to search for."""
    if program.recorded is None and program.task is None:
        return {name: value for name, value in named(list(program.asked.numbers)).items() if type(value) is int}
    passed = program.launch().arguments.passed
    return {one.name: one.value for one in passed if type(one.value) is int and array_of(one.value) is None}


def _own(ranking: Ranking, constants: Mapping[str, object], program: RequestedProgram) -> dict[str, Any]:
    """Where the compile's own configuration is: its row, and what there is to say of it."""
    tiles = ranking.problem.roles.tiles

    def is_own(config: Config) -> bool:
        of_tiles = all(config.kwargs.get(name) == constants.get(name) for name in tiles)
        return of_tiles and (config.num_warps, config.num_stages) == (
            program.options.num_warps,
            program.options.num_stages,
        )

    for row, candidate in enumerate(ranking):
        if is_own(candidate.config):
            times = candidate.microseconds / ranking[0].microseconds
            text = f"number {row + 1} of {len(ranking)}: {candidate.microseconds:.1f} us expected, {times:.2f} times the first"
            return {"row": row, "text": f"{text}: {candidate.why}"}
    for config, misfit in ranking.dropped:
        if is_own(config):
            return {"row": None, "text": f"dropped: {misfit.text}"}
    return {"row": None, "text": "not among those that are tried, which are powers of 2 within what a CTA can hold"}


def _items(source: ASTSource, constants: Mapping[str, object]) -> dict[str, str]:
    """A signature that gives the same compile, by parameter; nothing where one of its values has no text."""
    found: dict[str, str] = {}
    for at, (name, kind) in enumerate(source.signature.items()):
        if name in constants:
            value = constants[name]
            if isinstance(value, JITCallable | dtype) or not isinstance(value, bool | int | float | str | None):
                if not isinstance(value, dtype):
                    return {}
                found[name] = str(value)
                continue
            found[name] = repr(value)
        elif isinstance(kind, str):
            found[name] = f"{kind}:{DIVISIBLE}" if (at,) in source.attrs else kind
        else:
            return {}
    return found
