"""What of the package pyright does not check strictly: a short list, and nothing beside it."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "minitriton"

KERNELS = "kernels are no typed Python: their arguments are what a launch passes"
LANGUAGE = "library functions that are kernels: the annotation `constexpr` speaks to the kernel compiler"
NOT_STRICT = {
    "commands/demo_kernel.py": KERNELS,
    "explorer/lessons/kernels/exercises.py": KERNELS,
    "explorer/lessons/kernels/tour.py": KERNELS,
    "fuzz/mutation/kernels.py": KERNELS,
    "tools/ragged_tma_kernels.py": KERNELS,
    "language/random.py": LANGUAGE,
    "language/sorting.py": LANGUAGE,
    "language/standard.py": LANGUAGE,
}


def texts() -> dict[str, str]:
    found = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}
    return {name: text for name, text in found.items() if not name.startswith("lab/corpus/kernels/")}


def test_files_that_are_not_checked_strictly_are_those_listed() -> None:
    assert {name for name, text in texts().items() if re.search(r"^# pyright: *(standard|basic)", text, re.M)} == set(
        NOT_STRICT
    )


def test_nothing_is_ignored_without_naming_the_rule() -> None:
    unnamed = re.compile(r"# type: ignore|# pyright: ignore(?!\[)")
    assert [name for name, text in texts().items() if unnamed.search(text)] == []
