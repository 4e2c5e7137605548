"""Spaces: what may vary, drawn, changed, printed and read back; and launches that differ from the kernel's own."""

from __future__ import annotations

import random
from itertools import dropwhile

import pytest

from minitriton import lab
from minitriton.errors import MinitritonError, PipelineError
from minitriton.lab import corpus
from minitriton.lab.sweeping.candidates import Candidates
from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, CorrectnessChecker
from minitriton.lab.sweeping.space import Space, foreign_passes, is_legal
from minitriton.lab.sweeping.states import State, States
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Property

WIDE = Space(
    vary={"num_warps": (2, 4, 8), "arch": (80, 90), "optimize-llvm-ir{level}": (1, 2, 3)},
    llvm=True,
    layouts=True,
    memory=True,
)


@pytest.mark.parametrize("space", [Space(), WIDE, Space(order=False, legal=False, insert=("cse", "canonicalize"))])
def test_a_space_is_read_back_from_its_text(space: Space) -> None:
    assert Space.parse(str(space)) == space


def test_a_word_that_says_nothing_of_a_space_is_named() -> None:
    with pytest.raises(MinitritonError, match="shuffle"):
        Space.parse("order shuffle")


def test_points_are_read_back_from_their_text_and_their_contracts_hold() -> None:
    candidates, rng = Candidates(WIDE, corpus.task("tiled_dot")), random.Random(1)
    drawn = [candidates.sample(rng) for _ in range(30)]
    drawn += [candidates.mutate(drawn[i], rng) for i in range(30)]
    drawn += [candidates.cross(drawn[i], drawn[i + 1], rng) for i in range(20)]
    for configuration in drawn:
        assert Configuration.parse(str(configuration)) == configuration
        assert is_legal(configuration.pipeline, candidates.facts)
    assert len({configuration.settings for configuration in drawn}) > 4
    assert any("minitriton-choose-layout" in str(configuration) for configuration in drawn)
    assert any("passes=" in str(configuration) for configuration in drawn)
    assert any("minitriton-cache-hints" in str(configuration) for configuration in drawn)
    assert any("minitriton-overlap-launches" in str(configuration) for configuration in drawn)


@pytest.mark.parametrize("kernel", ["running_sums", "gathered_by_clusters"])
def test_a_pipeline_is_legal_where_the_check_accepts_it(kernel: str) -> None:
    task, rng = corpus.task(kernel), random.Random(3)
    space, seen = Space(legal=False, insert=foreign_passes()), set[bool]()
    for _ in range(200):
        pipeline = space.sample(task.pipeline(), task.facts, rng)
        try:
            pipeline.check(task.facts)
            holds = True
        except PipelineError:
            holds = False
        assert is_legal(pipeline, task.facts) is holds
        seen.add(holds)
    assert seen == {True, False}


def test_orders_that_ask_for_no_contracts_are_far_from_the_default_and_leave_their_level() -> None:
    task, rng = corpus.task("running_sums"), random.Random(4)
    space, own = Space(legal=False, insert=foreign_passes()), task.pipeline().steps
    drawn = [space.sample(Pipeline(own), task.facts, rng).steps for _ in range(100)]
    legal = [steps for steps in drawn if is_legal(Pipeline(steps), task.facts)]
    assert max(len(set(steps) ^ set(own)) for steps in legal) > 4
    after = (dropwhile(lambda step: step.name != "convert-triton-to-tritongpu", steps) for steps in drawn)
    assert any(step.stage == "ttir" for steps in after for step in steps)


def test_states_and_the_check_agree_on_what_holds() -> None:
    task = corpus.task("running_sums")
    steps = task.pipeline().insert("cse", after="insert-barriers").steps
    at = next(index for index, step in enumerate(steps) if step.name == "insert-barriers")
    states = States(task.context, task.make_ir, task.facts)
    before, after = (states.run(Pipeline(steps[: at + n])) for n in (1, 2))
    assert isinstance(before, State) and isinstance(after, State)
    assert before.facts == Pipeline(steps[: at + 1]).check(task.facts)
    assert after.facts == Pipeline(steps[: at + 2]).check(task.facts) == steps[at + 1].after(before.facts)
    assert Property.BARRIERS in before.facts - after.facts


def test_data_of_several_ctas_may_come_back_after_the_exchange_of_clusters_only() -> None:
    """A later layout pass is refused before anything runs where there are clusters, and allowed where there are none."""
    for kernel, result in (("gathered_by_clusters", Class.REFUSED), ("running_sums", Class.RIGHT)):
        task = corpus.task(kernel)
        late = task.pipeline().insert("tritongpu-remove-layout-conversions", after="exchange-between-ctas")
        assert CorrectnessChecker(task).record(late).result is result


def test_another_launch_has_its_default_pipeline_grid_and_numbers() -> None:
    task = corpus.task("bench_add")
    checker = CorrectnessChecker(task)
    own = checker.record(task.pipeline())
    variant = task.variant((("BLOCK", 512), ("num_warps", 2)))
    other = checker.record(Configuration(variant.pipeline(), (("BLOCK", 512), ("num_warps", 2))))
    assert (variant.grid, task.grid) == ((8,), (4,))
    assert own.result is other.result is Class.RIGHT
    assert (own.metrics["threads"], other.metrics["threads"]) == (128, 64)
    assert own.metrics["scale"] * own.metrics["programs"] == 2**25 / 1024


def test_every_combination_of_settings_is_there_once() -> None:
    candidates = Candidates(Space(constants=True), corpus.task("bench_add"))
    configurations = list(candidates.grid())
    assert len(configurations) == len({str(p) for p in configurations}) == 4 * 5
    assert Configuration(candidates.first.pipeline) in configurations


def test_settings_that_a_kernel_does_not_have_are_named() -> None:
    with pytest.raises(MinitritonError, match="BLOKC"):
        Candidates(Space(vary={"BLOKC": (128,)}), corpus.task("bench_add"))
    with pytest.raises(MinitritonError, match="one grid"):
        Candidates(Space(vary={"BLOCK": (512, 128)}), corpus.task("log_sum_exp"))


def test_a_launch_that_cannot_be_is_refused_and_never_drawn() -> None:
    task = corpus.task("bench_matmul")
    record = CorrectnessChecker(task).record(Configuration(task.pipeline(), (("arch", 80), ("num_ctas", 2))))
    assert record.result is Class.REFUSED
    assert "num_ctas" in record.reason
    candidates = Candidates(Space(vary={"arch": (80,), "num_ctas": (1, 2)}), task)
    drawn = {candidates.sample(random.Random(seed)).settings for seed in range(40)}
    assert (("arch", 80), ("num_ctas", 2)) not in drawn


def test_more_shared_memory_than_there_is_is_refused() -> None:
    task = corpus.task("bench_matmul")
    settings = (("K", 128), ("M", 128), ("N", 128), ("num_stages", 4))
    record = CorrectnessChecker(task, run=False).record(Configuration(task.variant(settings).pipeline(), settings))
    assert record.result is Class.REFUSED
    assert "shared memory" in record.reason


def test_llvms_passes_are_chosen_by_name() -> None:
    task = corpus.task("log_sum_exp")
    text = str(task.pipeline()).replace("optimize-llvm-ir", "optimize-llvm-ir{passes=sroa,instcombine,gvn}")
    assert CorrectnessChecker(task).record(text).result is Class.RIGHT
    with pytest.raises(PipelineError, match="'gnv'") as raised:
        Pipeline.parse("optimize-llvm-ir{passes=gnv}")
    assert "gvn" in str(raised.value)


def test_a_chosen_layout_is_the_accesss() -> None:
    task = corpus.task("bench_transpose")
    checker = CorrectnessChecker(task)
    own = checker.record(task.pipeline())
    narrow = "minitriton-choose-layout{access=0 size-per-thread=1,1 order=0,1}"
    behind = "minitriton-coalesce-by-width,"
    record = checker.record(str(task.pipeline()).replace(behind, f"{behind}{narrow},", 1))
    assert record.result is Class.RIGHT
    assert record.metrics["sectors"] > 2 * own.metrics["sectors"]
    with pytest.raises(PipelineError, match="order"):
        Pipeline.parse("minitriton-choose-layout{size-per-thread=1,2 order=1,1}")


def test_hints_for_the_caches_are_evaluated_and_overlapping_launches_are_launched_so() -> None:
    task = corpus.task("bench_add")
    candidates, checker = (
        Candidates(Space(order=False, omit=False, duplicate=False, memory=True), task),
        CorrectnessChecker(task),
    )
    records = {str(configuration): checker.record(configuration) for configuration in candidates.neighbours()}
    assert {record.result for record in records.values()} == {Class.RIGHT}
    assert (
        len(records) == len({record.program for record in records.values()}) == sum(map(len, candidates.memory_steps()))
    )
    overlapping = {text for text, record in records.items() if checker.programs[record.program].options.launch_pdl}
    assert len(overlapping) == 1 and "minitriton-overlap-launches" in overlapping.pop()


def test_a_kernel_of_ones_own_varies_by_a_function_of_its_grid() -> None:
    import numpy as np

    case = corpus.find("bench_add")
    kernel = getattr(corpus.load_file(case.file + ".py", "minitriton"), case.kernel)
    x, y, out = (np.ones(1000, np.float32) for _ in range(3))
    task = lab.TuningTask.of_call(kernel, [x, y, out, 1000], lambda at: (-(-1000 // at["BLOCK"]),), BLOCK=128)
    found = lab.search(task, Space(order=False, omit=False, duplicate=False, vary={"BLOCK": (128, 512)}), budget=4)
    assert found.best.result is Class.RIGHT
    assert found.gain > 0
