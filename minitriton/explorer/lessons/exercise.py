"""An exercise: a program, what is asked of it, and the checks that an answer must pass.

grade(exercise, session, asked, text)      Grade(ok=True, said=["the numbers are the same", ...])
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from minitriton.commands.pipeline_edits import edited
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest, CompileRequestFields
from minitriton.explorer.compiles import Compiles
from minitriton.explorer.lessons.checks import Check, ExerciseAnswer
from minitriton.explorer.program import open_program
from minitriton.explorer.wire import ExerciseJson, RecordedAnswerJson

KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class Choice:
    """An answer that a page without a server offers: `text`, or `options` and `edits` in place of the exercise's own."""

    title: str
    text: str = ""
    options: tuple[str, ...] = ()
    edits: tuple[tuple[str, str], ...] | None = None

    def asked(self, of: CompileRequest) -> CompileRequest:
        """The state that it is."""
        return replace(of, options=(*of.options, *self.options), edits=of.edits if self.edits is None else self.edits)


@dataclass(frozen=True)
class Exercise:
    """`grade` is 1 to 3. `wants`: what an answer is: "kernel", "passes", "ir", "options" or "words"."""

    name: str
    title: str
    grade: int
    task: str
    hint: str
    asked: CompileRequest
    wants: str
    checks: tuple[Check, ...]
    choices: tuple[Choice, ...] = ()
    """Where there are few answers: all that make sense. They are checked when a file is written, and chosen from in it."""

    def plain(self) -> ExerciseJson:
        """What a page shows of it."""
        return {
            "name": self.name, "title": self.title, "grade": self.grade, "task": self.task, "hint": self.hint, "wants": self.wants,
            "asked": self.asked.plain(), "pipeline": self._refused() if self.wants == "passes" else None,
        }  # fmt: skip

    def _refused(self) -> str:
        """The pipeline that is to be fixed, which cannot be compiled."""
        return str(edited(open_program(self.asked).default_pipeline(), list(self.asked.edits)))


@dataclass(frozen=True)
class Grade:
    """Whether every check passed, and what each said."""

    ok: bool
    said: tuple[str, ...]


def grade(exercise: Exercise, session: Compiles, asked: CompileRequest, text: str = "") -> Grade:
    """Checks an answer, up to the first check that fails."""
    answer = ExerciseAnswer(session, exercise.asked, asked, text)
    said: list[str] = []
    for check in exercise.checks:
        try:
            found = check(answer)
        except MinitritonError as error:
            return Grade(False, (*said, f"✗ {error}"))
        said.append(f"{'✓' if found.ok else '✗'} {found.text}")
        if not found.ok:
            return Grade(False, tuple(said))
    return Grade(True, tuple(said))


def recorded(exercise: Exercise, session: Compiles) -> list[RecordedAnswerJson]:
    """Its choices with what the checks say of each."""
    found: list[RecordedAnswerJson] = []
    for choice in exercise.choices:
        graded = grade(exercise, session, choice.asked(exercise.asked), choice.text)
        found.append({"title": choice.title, "ok": graded.ok, "said": list(graded.said)})
    return found


def kernel(name: str, signature: str, **more: Unpack[CompileRequestFields]) -> CompileRequest:
    """The program of an exercise."""
    return CompileRequest(f"{KERNELS / 'exercises.py'}:{name}", signature, **more)
