"""The tile sizes of the compile that is looked at, among all that its kernel could have: which fit, how long each takes by the model, and why.

tiles_of(program, "m=4096,n=4096,k=4096")["own"]      {"text": "number 12 of 690: 61.2 us expected, 1.22 times the first", "row": 11}

It is what `minitriton tune` says (`runtime.tuning`), of the types that the compile has, for the sizes that its launch has unless others are given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from minitriton.analysis.tile_roles import TileRoles
from minitriton.commands.signature import DIVISIBLE
from minitriton.commands.tile_tables import tables_of
from minitriton.commands.tune import constants_of, missing_sizes, ranking_of, require_speeds, sizes_of
from minitriton.errors import MinitritonError
from minitriton.explorer.program import RequestedProgram
from minitriton.explorer.wire import TilesJson
from minitriton.frontend.function import JITCallable
from minitriton.host.json_values import Json
from minitriton.lab import corpus
from minitriton.lab.arguments import array_of
from minitriton.lab.command import grid_of, named
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
    require_speeds(kernel, program.target)
    sizes = sizes_of([given] if given else [], kernel) or sizes_of_launch(program)
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
        "configs": [each["config"] for each in found["candidates"]], "asked": asked_from_file(program),
        "grids": _grids(program, ranking), "sizes": ",".join(f"{n}={v}" for n, v in sizes.items()),
        "items": signature_items(source, constants),
    }  # fmt: skip


def sizes_of_launch(program: RequestedProgram) -> dict[str, int]:
    """The numbers of a launch that somebody gave: made-up ones are no size to search for."""
    if program.recorded is None and program.task is None:
        return {name: value for name, value in named(list(program.asked.numbers)).items() if type(value) is int}
    passed = program.launch().arguments.passed
    return {one.name: one.value for one in passed if type(one.value) is int and array_of(one.value) is None}


def asked_from_file(program: RequestedProgram) -> dict[str, Json]:
    """What the kernel is compiled from with other constants: one of the corpus from its file, with the options and numbers of its launch."""
    asked = program.asked
    if program.task is None:
        return asked.plain()
    case = corpus.find(asked.source)
    named_already = {text.partition("=")[0] for text in asked.options}
    options = [f"{name}={value}" for name, value in case.launch_options.items() if name not in named_already]
    numbers = asked.numbers or tuple(f"{name}={value}" for name, value in sizes_of_launch(program).items())
    source = f"{case.file}.py:{case.kernel}"
    return replace(asked, source=source, options=(*options, *asked.options), numbers=numbers).plain()


def _grids(program: RequestedProgram, ranking: Ranking) -> list[str]:
    """The grid of the compile's launch with the constants of each row, "" where it is not known how it follows from them."""
    own = grid_of_launch(program)
    if own is None:
        return [""] * min(len(ranking), _MOST)
    roles = ranking.problem.roles
    grids = (grid_of_constants(program, roles, own, candidate.config.kwargs) for candidate in ranking[:_MOST])
    return [",".join(map(str, grid)) if grid else "" for grid in grids]


def grid_of_launch(program: RequestedProgram) -> Sequence[int] | None:
    """The grid that somebody said: of the page, the corpus or a recorded launch."""
    if program.asked.grid:
        return grid_of(program.asked.grid)
    said = program.task or program.recorded
    return None if said is None else said.grid


def grid_of_constants(
    program: RequestedProgram, roles: TileRoles, own: Sequence[int], changed: Mapping[str, Any]
) -> Sequence[int] | None:
    """The grid of the program's launch, `own`, where some of its constants are `changed`; None where it is not known how it follows from them."""
    constants = constants_of(program.source)
    values = {**constants, **changed}
    if program.task is not None and program.task.grid_of is not None and not program.asked.grid:
        return program.task.grid_of(values)
    return grid_with(roles, own, sizes_of_launch(program), constants, values)


def grid_with(
    roles: TileRoles, grid: Sequence[int], sizes: Mapping[str, int], old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[int] | None:
    """The grid of a launch whose constants are `new` in place of `old`; None where the one that it had does not follow from these.

    BM = 64 of m = 500, grid 8, 4     with BM = 128: 4, 4
    """
    found = list(grid)
    for axis, programs in enumerate(grid):
        tiles = [tile for tile in roles.tiles.values() if axis in tile.program_axes]
        if all(old[tile.name] == new[tile.name] for tile in tiles):
            continue
        extents = {tile.name: sizes.get(tile.extent or "") for tile in tiles}
        if len(tiles) == 1 and extents[tiles[0].name] is None:
            extents = {tiles[0].name: programs * old[tiles[0].name]}
        if None in extents.values() or any(axis in tile.program_axes[1:] for tile in tiles):
            return None
        before, after = (prod(-(-size // of[name]) for name, size in extents.items() if size) for of in (old, new))
        if not before or programs % before:
            return None
        found[axis] = programs // before * after
    for name in roles.programs + roles.split_k:
        axes = [axis for axis, programs in enumerate(grid) if programs == old[name]]
        if old[name] != new[name] and len(axes) != 1:
            return None
        for axis in axes if old[name] != new[name] else []:
            found[axis] = new[name]
    return found


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


def signature_items(source: ASTSource, constants: Mapping[str, object]) -> dict[str, str]:
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
