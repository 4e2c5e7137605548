"""Configurations of a sweep on the page, one at a time: whether each keeps the kernel's numbers, and what it costs by the models.

evaluated(program)              {"result": "right", "reason": "", "numbers": {"cycles": 5210, "registers": 40, ...}}
sweep_of(program, {"num_warps": ["4", "8"]}, pass_orders=8)      the configurations that there are to try, as what to ask of the explorer for each

It is `lab.sweep` of the program that the page asks for: of a file, of text that was typed, of the corpus, with the page's inputs and grid.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from minitriton.codegen.assemblers import assembler_available
from minitriton.commands.tune import constants_of, problem_of_compile
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.execution import launch_of
from minitriton.explorer.program import DEFAULT_GRID, RequestedProgram
from minitriton.explorer.recording import Recording
from minitriton.explorer.tiles import (
    asked_from_file,
    grid_of_constants,
    grid_of_launch,
    signature_items,
    sizes_of_launch,
)
from minitriton.explorer.wire import EvaluatedJson, Json, OfferedJson, SweepJson
from minitriton.lab.command import grid_of
from minitriton.lab.comparison import Verdict, compare, rounding_tolerance
from minitriton.lab.sweeping.configuration import Configuration, KernelProgram
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.metrics import program_digest, run_metrics, static_metrics
from minitriton.lab.sweeping.search import difference
from minitriton.lab.sweeping.serving import measured
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.tuning_task import Given, TuningTask
from minitriton.pipeline.ast_source import ASTSource
from minitriton.pipeline.pass_registry import Property

NUMBERS = (
    "cycles",
    "instructions",
    "sectors",
    "bank_conflicts",
    "barriers",
    "registers",
    "spill_bytes",
    "shared_bytes",
)
"""What a row of the page's sweep has, where it can be measured."""
MOST_CONFIGURATIONS = 100
"""That a page tries: more are a matter for `minitriton sweep`."""
_OPTIONS = ("num_warps", "num_stages", "num_ctas")
_OF_MACHINE_CODE = ("cycles", "registers", "spill_bytes")


def evaluated(program: RequestedProgram) -> EvaluatedJson:
    """What becomes of the program's own configuration, and what it costs."""
    evaluator = Evaluator(_task(program), _metrics(program))
    return _plain(evaluator(Configuration(program.pipeline())))


def evaluated_by_triton(program: RequestedProgram, recording: Recording) -> EvaluatedJson:
    """The same of what Triton made of the program: its results are compared with those of the kernel's own meaning."""
    task = _task(program)
    module = task.make_ir()
    reference = task.launch().run(module, task.facts)
    launch = launch_of(program, recording)
    launch.reach = True
    text = recording.stage("ptx").raw or ""
    outcome = launch.run(text, frozenset({Property.PTX}))
    if outcome.report is None or outcome.fault is not None:
        raise outcome.fault or outcome.why_not_run()
    tolerance = max(task.tolerance, rounding_tolerance(module))
    verdict = compare(outcome.arrays, reference.arrays, launch.arguments.array_elements(), tolerance)
    result = Class.WRONG if verdict is Verdict.WRONG else Class.UNSOUND if outcome.findings else Class.RIGHT
    made = KernelProgram(
        recording.kernel, program_digest(text, recording.shared), text, program.target.arch, program.options, (),
        recording.shared, recording.global_scratch,
    )  # fmt: skip
    found = {**static_metrics(text, recording.shared), **run_metrics(outcome.report, task.scale, task.footprint)}
    for group in ("machine", "estimate") if assembler_available() else ():
        found.update(measured(group, None, None, [made], {made.digest: found}).get(made.digest, {}))
    reason = "other numbers than the kernel's own" if result is Class.WRONG else ""
    return _plain(Evaluation(recording.kernel, "", result, reason=reason, metrics=found))


def sweep_of(program: RequestedProgram, vary: Mapping[str, Sequence[str]], pass_orders: int) -> SweepJson:
    """Every combination of the values of `vary`, of constants and compile options, and as many pass orders of the program itself; at first
    the program as it is. Raises `MinitritonError` for names that it lacks, for too many, and where the grid does not follow from a constant."""
    constants = constants_of(program.source) if isinstance(program.source, ASTSource) else {}
    numbers = {name: str(value) for name, value in constants.items() if isinstance(value, int)}
    own = {**{name: str(getattr(program.options, name)) for name in _OPTIONS}, **numbers}
    for name in vary:
        if name not in own:
            raise MinitritonError(f"nothing is called {name!r} that could vary", help="there is: " + ", ".join(own))
    combinations = [
        {name: value for name, value in zip(vary, values, strict=True) if value != own[name]}
        for values in product(*vary.values())
    ]
    if len(combinations) + pass_orders > MOST_CONFIGURATIONS:
        raise MinitritonError(
            f"{len(combinations) + pass_orders} configurations are more than the {MOST_CONFIGURATIONS} that a page tries",
            help="give fewer values, or try them in a terminal: minitriton sweep FILE.py:kernel --vary NAME=VALUE,VALUE",
        )
    changed = [one for one in combinations if one]
    varied = {name for one in changed for name in one if name not in _OPTIONS}
    follow = _grids(program, varied) if varied else None
    rows: list[OfferedJson] = [{"title": "as it is", "about": "", "asked": program.asked.plain()}]
    for one in changed:
        rows.append({"title": _text(one), "about": "", "asked": _asked(program, one, follow)})
    for number, pipeline in enumerate(_pass_orders(program, pass_orders), 1):
        about = "\n".join(line.strip() for line in difference(str(program.pipeline()), pipeline))
        asked = replace(program.asked, pipeline=pipeline, edits=())
        rows.append({"title": f"pass order {number}", "about": about, "asked": asked.plain()})
    return {"own": own, "rows": rows}


def _text(changed: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in changed.items())


Follow = Callable[[Mapping[str, Any]], "Sequence[int] | None"]


def _grids(program: RequestedProgram, varied: set[str]) -> Follow:
    """What gives the grid of the launch for other constants. Raises `MinitritonError` where they are no tile sizes that it follows from."""
    source, own = program.source, grid_of_launch(program) or grid_of(DEFAULT_GRID)
    if program.task is not None and program.task.grid_of is not None and not program.asked.grid:
        return lambda values: program.task.grid_of({**constants_of(source), **values})
    roles = problem_of_compile(source, sizes_of_launch(program), program.target).roles
    fixed = sorted(varied - {*roles.tiles})
    if fixed:
        raise MinitritonError(
            f"another {fixed[0]} is another problem, not another way to compute this one",
            help="leave it as it is: tile sizes are " + (", ".join(roles.tiles) or "not among its constants"),
        )
    return lambda values: grid_of_constants(program, roles, own, values)


def _asked(program: RequestedProgram, changed: Mapping[str, str], follow: Follow | None) -> dict[str, Json]:
    """What is asked of the explorer for the program with other constants and options, its launch's grid as it follows from them."""
    options = {name: value for name, value in changed.items() if name in _OPTIONS}
    constants = {name: _value(name, value) for name, value in changed.items() if name not in _OPTIONS}
    asked = CompileRequest.of_plain(asked_from_file(program)) if constants else program.asked
    kept = tuple(text for text in asked.options if text.partition("=")[0] not in options)
    asked = replace(asked, options=(*kept, *(f"{name}={value}" for name, value in options.items())))
    if constants:
        items = signature_items(program.source, {**constants_of(program.source), **constants})
        grid = follow(constants) if follow is not None else None
        if not items or grid is None:
            raise MinitritonError(
                f"it is not known which grid {_text(changed)} needs", help="vary compile options, or fewer constants"
            )
        asked = replace(asked, signature=",".join(items.values()), grid=",".join(map(str, grid)))
    return asked.plain()


def _value(name: str, text: str) -> int | bool:
    if text in ("True", "False"):
        return text == "True"
    if not text.removeprefix("-").isdigit():
        raise MinitritonError(f"{name} cannot be {text!r}", help="write whole numbers, or True and False")
    return int(text)


def _pass_orders(program: RequestedProgram, count: int) -> list[str]:
    """`count` other pipelines of the program, as `lab.sweep` draws them: passes in another order, some left out, some twice."""
    base, rng = program.pipeline(), random.Random(0)
    found = {str(base): None}
    for _ in range(20 * count):
        if len(found) > count:
            break
        found[str(Space().sample(base, program.facts, rng))] = None
    return list(found)[1:]


def _task(program: RequestedProgram) -> TuningTask:
    launch = program.launch()
    name = getattr(getattr(program.source, "fn", None), "__name__", program.asked.source)
    found = TuningTask(name, program.source, Given(launch.arguments), launch.grid, program.target, program.options)
    found.tolerance = program.task.tolerance if program.task is not None else 0.0
    return found


def _metrics(program: RequestedProgram) -> list[str]:
    has_machine_code = program.target.backend == "cuda" and assembler_available()
    return [name for name in NUMBERS if has_machine_code or name not in _OF_MACHINE_CODE]


def _plain(found: Evaluation) -> EvaluatedJson:
    known = found.all_metrics
    numbers = {name: round(known[name]) for name in NUMBERS if name in known}
    reason = f"{found.culprit}: {found.reason}" if found.culprit else found.reason
    return {"result": found.result.value, "reason": reason, "numbers": numbers}
