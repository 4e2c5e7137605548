"""Sweeps over pipelines: what is the same is done once, what is wrong is named, and nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from minitriton import lab
from minitriton.dialects import arith
from minitriton.dialects.tt import MakeRangeOp
from minitriton.errors import MinitritonError
from minitriton.lab import corpus
from minitriton.lab.sweeping.configuration import parse_steps
from minitriton.lab.sweeping.correctness import Class, CorrectnessChecker, Evaluation
from minitriton.lab.sweeping.reducing import smallest_pipeline
from minitriton.lab.sweeping.references import references
from minitriton.lab.sweeping.serving import Drawing
from minitriton.lab.sweeping.space import Space, foreign_passes, is_legal
from minitriton.lab.sweeping.states import Fingerprints, State
from minitriton.lab.sweeping.store import Store
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Pass, Property, register_pass

KERNEL = "running_product"


@register_pass
@dataclass(frozen=True)
class LosesAProduct(Pass):
    """A wrong pass: products become sums."""

    name = "test-loses-a-product"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, arith.MulfOp):
                sum_ = arith.AddfOp(inner.lhs, inner.rhs)
                assert inner.parent is not None
                inner.parent.insert_op_before(sum_, inner)
                inner.result.replace_all_uses_with(sum_.result)
                inner.detach()
                inner.erase()


@register_pass
@dataclass(frozen=True)
class EndsTheProcess(Pass):
    """A pass that takes its process with it."""

    name = "test-ends-the-process"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        os._exit(7)


@pytest.fixture(scope="module")
def checker() -> CorrectnessChecker:
    return CorrectnessChecker(corpus.task(KERNEL))


def test_a_copy_is_the_same_program_and_another_attribute_makes_another() -> None:
    fingerprints = Fingerprints()
    task = corpus.task(KERNEL)
    first, second = task.make_ir(), task.make_ir()
    assert fingerprints.of(first) == fingerprints.of(second)
    numbers = next(op for op in second.walk() if isinstance(op, MakeRangeOp))
    numbers.properties["end"] = IntegerAttr(77, 32)
    assert fingerprints.of(first) != fingerprints.of(second)


def test_programs_with_operands_exchanged_differ() -> None:
    from minitriton.dialects.text import parse_module

    text = "func.func @f(%a: i32, %b: i32) {{ %c = arith.subi {0} : i32\n func.return }}"
    one, other = (parse_module(text.format(pair)) for pair in ("%a, %b", "%b, %a"))
    assert Fingerprints().of(one) != Fingerprints().of(other)
    fingerprints = Fingerprints()
    assert fingerprints.of(one) != fingerprints.of(other)


def test_the_targets_default_pipeline_is_right_and_counted(checker: CorrectnessChecker) -> None:
    record = checker.record(checker.task.pipeline())
    assert record.result is Class.RIGHT
    assert record.metrics["barriers"] > 0
    assert record.metrics["instructions"] > record.metrics["ptx_instructions"] / 2


def test_what_pipelines_share_is_run_once(checker: CorrectnessChecker) -> None:
    base = checker.task.pipeline()
    checker.record(base)
    run = checker.states.steps_run
    at = next(i for i, step in enumerate(base.steps) if step.name == "minitriton-merge-tile-axes")
    checker.record(Pipeline(base.steps[:at] + base.steps[at + 1 :]))
    assert checker.states.steps_run - run <= 2


def test_a_pass_that_changes_nothing_leads_to_the_same_state(checker: CorrectnessChecker) -> None:
    once, twice = Pipeline.parse("inline,canonicalize,cse"), Pipeline.parse("inline,canonicalize,cse,cse,canonicalize")
    state = checker.states.run(once)
    assert isinstance(state, State)
    assert checker.states.run(twice) is state


def test_dropped_modules_are_made_again(checker: CorrectnessChecker) -> None:
    state = checker.states.run(Pipeline.parse("inline,canonicalize,cse"))
    assert isinstance(state, State)
    before = str(checker.states.value(state))
    checker.states._values.clear()
    assert str(checker.states.value(state)) == before


def test_a_wrong_pass_gives_wrong_records(checker: CorrectnessChecker) -> None:
    steps = list(checker.task.pipeline().steps)
    record = checker.record(Pipeline((*steps[:3], LosesAProduct(), *steps[3:])))
    assert (record.result, record.reason) == (Class.WRONG, "other numbers than the kernel's own")


def test_the_pass_that_makes_numbers_wrong_is_named_wherever_it_stands(tmp_path: Path) -> None:
    checker = CorrectnessChecker(corpus.task(KERNEL), culprits=True)
    steps = list(checker.task.pipeline().steps)
    tiles = next(at for at, step in enumerate(steps) if step.name == "tritongpu-coalesce")
    named: set[str] = set()
    for at in (3, tiles):
        record = checker.record(Pipeline((*steps[:at], LosesAProduct(), *steps[at:])))
        assert record.result is Class.WRONG
        named.add(record.culprit)
    assert named == {LosesAProduct.name}
    right = checker.record(Pipeline(tuple(steps)))
    assert (right.result, right.culprit) == (Class.RIGHT, "")


def test_a_sweep_names_the_pass_that_makes_numbers_wrong(tmp_path: Path) -> None:
    (tmp_path / "loses.py").write_text(OWN_PASS)
    reference = references([KERNEL], loads=(str(tmp_path / "loses.py"),))[0]
    table = lab.sweep(reference, lab.Space(insert=("own-loses-a-product",)), count=20, store=tmp_path / "s.db")
    culprits = {record.culprit for record in table.records if record.result is Class.WRONG}
    assert culprits == {"own-loses-a-product"}
    assert "wrong in own-loses-a-product" in table.text()
    assert told_of(
        lab.sweep(reference, [record.pipeline for record in table.records], store=tmp_path / "s.db")
    ) == told_of(table)


def told_of(table: lab.Table) -> list[tuple[str, str, str]]:
    return [(record.pipeline, str(record.result), record.culprit) for record in table.records]


OWN_PASS = """
from dataclasses import dataclass
from minitriton.dialects import arith
from minitriton.pipeline.pass_registry import Pass, register_pass

@register_pass
@dataclass(frozen=True)
class OwnLosesAProduct(Pass):
    name = "own-loses-a-product"
    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if isinstance(inner, arith.MulfOp):
                sum_ = arith.AddfOp(inner.lhs, inner.rhs)
                inner.parent.insert_op_before(sum_, inner)
                inner.result.replace_all_uses_with(sum_.result)
                inner.detach()
                inner.erase()
"""


def test_a_broken_contract_is_refused_with_the_reason(checker: CorrectnessChecker) -> None:
    text = str(checker.task.pipeline()).replace("convert-triton-to-tritongpu{target=cuda:90},", "")
    record = checker.record(Pipeline.parse(text))
    assert record.result is Class.REFUSED
    assert "convert-triton-to-tritongpu" in record.reason


def test_a_pipeline_that_stops_early_is_refused(checker: CorrectnessChecker) -> None:
    assert checker.record(Pipeline.parse("inline,cse")).result is Class.REFUSED


def test_drawn_pipelines_are_legal_and_read_back_from_their_text() -> None:
    task = corpus.task(KERNEL)
    base, rng = task.pipeline(), random.Random(1)
    space = Space(insert=foreign_passes())
    drawn = [space.sample(base, task.facts, rng) for _ in range(50)]
    assert len({str(p) for p in drawn}) > 30
    for pipeline in drawn:
        assert is_legal(pipeline, task.facts)
        assert parse_steps(str(pipeline)) == pipeline
        assert Property.PTX in pipeline.check(task.facts)
    crossed = space.cross(drawn[0], drawn[1], task.facts, rng)
    assert is_legal(crossed, task.facts)
    assert space.mutate(base, task.facts, rng) != base


def test_neighbours_are_one_change_away() -> None:
    base = corpus.task(KERNEL).pipeline()
    around = list(Space().neighbours(base))
    assert {len(p.steps) - len(base.steps) for p in around} == {-1, 0, 1}
    assert len({str(p) for p in around}) > 2 * len(base.steps)


def test_a_sweep_over_processes_is_resumed_from_its_store(tmp_path: Path) -> None:
    store = tmp_path / "sweep.db"
    first = lab.sweep([KERNEL], lab.Space(), count=12, seed=3, jobs=2, store=store)
    again = lab.sweep([KERNEL], lab.Space(), count=20, seed=3, jobs=1, store=store)
    assert (len(first), first.evaluated, len(again), again.evaluated) == (12, 12, 20, 8)
    assert {r.pipeline for r in first.records} <= {r.pipeline for r in again.records}
    assert again.best("instructions")[KERNEL].result is Class.RIGHT


def test_a_point_that_ends_its_process_is_recorded_and_the_rest_goes_on(tmp_path: Path) -> None:
    base = corpus.task(KERNEL).pipeline()
    bad = str(base).replace("inline,", "inline,test-ends-the-process,", 1)
    reference = lab.Reference(KERNEL, loads=(__file__,))
    table = lab.sweep([reference], [str(base), bad], jobs=1, store=tmp_path / "s.db")
    assert sorted(str(r.result) for r in table.records) == ["crashed", "right"]


def test_a_point_that_ends_its_process_is_found_among_others_that_are_helped_with(tmp_path: Path) -> None:
    task = corpus.task(KERNEL)
    own = str(task.pipeline())
    configurations = list(Drawing(Space(), 240).configurations(task))
    configurations[130] = bad = own.replace("inline,", "inline,test-ends-the-process,", 1)
    table = lab.sweep(
        lab.Reference(KERNEL, loads=(__file__,)), configurations, jobs=3, run=False, store=tmp_path / "s.db"
    )
    assert [r.pipeline for r in table.records if r.result is Class.CRASHED] == [bad]
    assert len(table) == 240


def test_a_sweep_killed_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    store, command = (
        tmp_path / "s.db",
        [sys.executable, "-m", "minitriton", "sweep", KERNEL, "--count", "120", "--jobs", "1"],
    )
    for seconds in (1.5, 3.0):
        process = subprocess.Popen(
            [*command, "--store", str(store)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
    table = lab.sweep([KERNEL], lab.Space(), count=120, store=store)
    pipelines = [r.pipeline for r in table.records]
    assert len(pipelines) == len(set(pipelines)) == 120


def test_two_processes_write_one_store(tmp_path: Path) -> None:
    stores = [Store(tmp_path / "s.db", "one"), Store(tmp_path / "s.db", "one"), Store(tmp_path / "s.db", "other")]
    for index, store in enumerate(stores):
        store.add([Evaluation("k", f"p{n}", Class.RIGHT, program="x", metrics={"m": index}) for n in range(index, 10)])
    assert [len(list(store.records())) for store in stores] == [10, 10, 8]


@pytest.mark.parametrize("content", [b"not a database, but long enough to be read as one" * 40, None])
def test_a_file_that_is_no_store_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "s.db"
    if content is None:
        path = tmp_path / "no" / "such" / "folder" / "s.db"
    else:
        path.write_bytes(content)
    with pytest.raises(MinitritonError, match="cannot use the store"):
        Store(path, "one")


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.db", "one")
    store._db.execute("UPDATE store SET version = 99")
    store.close()
    with pytest.raises(MinitritonError, match="version 99"):
        Store(tmp_path / "s.db", "one")


def test_an_unknown_kernel_and_an_unknown_metric_are_named() -> None:
    with pytest.raises(MinitritonError) as raised:
        lab.sweep(["runing_product"])
    assert "running_product" in str(raised.value)
    with pytest.raises(MinitritonError, match="seconds"):
        lab.Table([Evaluation("k", "p", Class.RIGHT)]).best("seconds")


@pytest.mark.parametrize("sampler", ["random", "exhaustive", "hill-climb", "evolutionary"])
def test_a_search_finds_what_is_no_worse_and_is_the_same_for_the_same_seed(sampler: str) -> None:
    found = [lab.search(KERNEL, lab.Space(), "instructions", sampler=sampler, budget=40, seed=5) for _ in range(2)]
    assert found[0].gain >= 0
    assert found[0].convergence() == sorted(found[0].convergence(), reverse=True)
    assert [r.pipeline for r in found[0].records] == [r.pipeline for r in found[1].records]
    assert found[0].best.result is Class.RIGHT
    assert KERNEL in found[0].text()


def test_a_search_for_what_is_not_measured_says_what_is() -> None:
    with pytest.raises(MinitritonError, match="nonsense") as raised:
        lab.search(KERNEL, objective="nonsense")
    assert "sectors" in str(raised.value)
    with pytest.raises(MinitritonError, match="no sampler"):
        lab.search(KERNEL, sampler="guess")


def test_leaving_a_needed_pass_out_shows_what_it_is_worth() -> None:
    ablation = lab.leave_one_out([KERNEL])
    assert "tritongpu-coalesce" in ablation.passes()
    assert ablation.change(KERNEL, "triton-combine", "instructions") == 0
    rows = ablation.text("ptx_instructions", changed_only=False).splitlines()
    assert len(rows) == len(ablation.passes()) + 1


def test_the_smallest_pipeline_keeps_the_pass_that_breaks_it(checker: CorrectnessChecker) -> None:
    steps = checker.task.pipeline().steps
    broken = Pipeline((*steps[:3], LosesAProduct(), *steps[3:]))
    smallest = smallest_pipeline(checker, broken)
    left = [step.name for step in smallest.steps]
    assert LosesAProduct.name in left
    assert len(left) < len(steps) / 3
    with pytest.raises(MinitritonError, match="does not show"):
        smallest_pipeline(checker, Pipeline(steps))
