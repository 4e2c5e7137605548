"""An exercise: a program, what is asked of it, and the checks that an answer must pass.

grade(exercise, workshop, asked, text)      Grade(ok=True, said=["the numbers are the same", ...])
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from minitriton.commands.pipeline_edits import edited
from minitriton.errors import MinitritonError
from minitriton.explorer.asked import Asked, AskedMore
from minitriton.explorer.compiles import Compiles
from minitriton.explorer.lessons.checks import Answer, Check
from minitriton.explorer.program import open_program
from minitriton.explorer.wire import ExercisePlain

KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class Exercise:
    """`grade` is 1 to 3. `wants`: what an answer is: "kernel", "passes", "ir", "options" or "words"."""

    name: str
    title: str
    grade: int
    task: str
    hint: str
    asked: Asked
    wants: str
    checks: tuple[Check, ...]

    def plain(self) -> ExercisePlain:
        """What a page shows of it."""
        return {
            "name": self.name, "title": self.title, "grade": self.grade, "task": self.task, "hint": self.hint, "wants": self.wants,
            "asked": self.asked.plain(), "pipeline": self._refused() if self.wants == "passes" else None,
        }  # fmt: skip

    def _refused(self) -> str:
        """The pipeline that is to be mended, which cannot be compiled."""
        return str(edited(open_program(self.asked).own_pipeline(), list(self.asked.edits)))


@dataclass(frozen=True)
class Grade:
    """Whether every check passed, and what each said."""

    ok: bool
    said: tuple[str, ...]


def grade(exercise: Exercise, workshop: Compiles, asked: Asked, text: str = "") -> Grade:
    """Checks an answer, up to the first check that fails."""
    answer = Answer(workshop, exercise.asked, asked, text)
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


def kernel(name: str, signature: str, **more: Unpack[AskedMore]) -> Asked:
    """The program of an exercise."""
    return Asked(f"{KERNELS / 'exercises.py'}:{name}", signature, **more)
