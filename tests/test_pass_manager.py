"""Pipelines as values: text, contracts, hooks, reproducers."""

from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.arith import AddiOp
from xdsl.dialects.builtin import ModuleOp, StringAttr, i32

from minitriton.errors import IRError, PassError, PipelineError
from minitriton.pipeline.pass_manager import PassManager, Pipeline, Statistics, Timings, VerifyEach, read_reproducer
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass


@register_pass
@dataclass(frozen=True)
class Mark(Pass):
    """Notes its options on the module."""

    name = "test-mark"
    text: str = "x"
    count: int = 1
    sizes: tuple[int, ...] = ()
    loud: bool = False
    establishes = frozenset({Property.INLINED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["mark"] = StringAttr(f"{self.text}{self.count}")


@register_pass
@dataclass(frozen=True)
class NeedsInlined(Pass):
    """Needs what `test-mark` establishes."""

    name = "test-needs-inlined"
    requires = frozenset({Property.INLINED})
    keeps = KEPT_BY_DEFAULT - {Property.INLINED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@register_pass
@dataclass(frozen=True)
class Fails(Pass):
    """Always fails."""

    name = "test-fails"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassError("no")


@pytest.mark.parametrize(
    "text",
    [
        "test-mark",
        "test-mark{text=cuda:90 count=4}",
        'test-mark{text="two words" sizes=1,2,3 loud=true},test-needs-inlined',
    ],
)
def test_a_pipeline_prints_as_it_was_written(text: str) -> None:
    pipeline = Pipeline.parse(text)
    assert str(pipeline) == text
    assert Pipeline.parse(str(pipeline)) == pipeline


def test_options_that_have_their_default_value_are_not_printed() -> None:
    assert str(Pipeline.parse("test-mark{text=x count=1}")) == "test-mark"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("test-makr", "did you mean 'test-mark'?"),
        ("test-mark{colour=red}", "text, count, sizes, loud"),
        ("test-mark{count=red}", "give a value of type int"),
        ("test-mark{count=1", "malformed options"),
        ("test-mark test-mark", "expected ','"),
        ("{}", "malformed pipeline"),
    ],
)
def test_wrong_text_is_refused_with_what_to_do(text: str, message: str) -> None:
    with pytest.raises(PipelineError) as error:
        Pipeline.parse(text)
    assert message in str(error.value)


def test_a_broken_contract_is_refused_before_anything_runs() -> None:
    with pytest.raises(PipelineError) as error:
        Pipeline.parse("test-needs-inlined").check([])
    assert "needs: calls inlined" in str(error.value)
    assert "test-mark" in str(error.value)


def test_the_pass_that_destroyed_a_needed_fact_is_named() -> None:
    pipeline = Pipeline.parse("test-mark,test-needs-inlined,test-needs-inlined")
    with pytest.raises(PipelineError, match="'test-needs-inlined' destroyed"):
        pipeline.check([])


def test_hooks_see_every_pass() -> None:
    timings, statistics = Timings(), Statistics()
    pipeline = Pipeline.parse("test-mark,test-mark{count=2}")
    PassManager(pipeline, [timings, statistics]).run(Context(), ModuleOp([]))
    assert [name for name, _ in timings.seconds] == ["test-mark", "test-mark"]
    assert [sum(counts.values()) for _, counts in statistics.counts] == [1, 1]
    assert "total" in timings.table()


def test_a_failing_pass_leaves_a_reproducer(tmp_path: Path) -> None:
    path = tmp_path / "repro.mlir"
    pipeline = Pipeline.parse("test-mark,test-fails,test-needs-inlined")
    with pytest.raises(PassError, match="no") as error:
        PassManager(pipeline, reproducer=path).run(Context(), ModuleOp([]))
    assert "test-fails" in str(error.value)
    rest, text = read_reproducer(path)
    assert str(rest) == "test-fails,test-needs-inlined"
    assert 'mark = "x1"' in text


def test_verification_names_the_pass_that_broke_the_ir() -> None:
    @dataclass(frozen=True)
    class Breaks(Pass):
        name = "test-breaks"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            op.body.block.add_op(AddiOp.create(operands=[], result_types=[i32]))

    with pytest.raises(IRError, match="test-breaks"):
        PassManager(Pipeline((Breaks(),)), [VerifyEach()]).run(Context(), ModuleOp([]))


def test_registering_makes_options_of_what_a_pass_annotates() -> None:
    @register_pass
    class Counts(Pass):
        name: ClassVar[str] = "test-counts"
        how_many: int = 3

    three, four = Pipeline.parse("test-counts,test-counts{how-many=4}").steps
    assert (three, hash(three)) == (Counts(), hash(Counts(3))) and three != four == Counts(how_many=4)
    assert str(Pipeline((three, four))) == "test-counts,test-counts{how-many=4}"
    assert repr(four).endswith("Counts(how_many=4)")
    with pytest.raises(FrozenInstanceError):
        four.how_many = 5  # pyright: ignore[reportAttributeAccessIssue]
