"""What the tests of errors share: programs with their wrong line marked, and commands run in this process."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from minitriton.errors import MinitritonError

MARK = "# wrong"


def place_of_mark(kernel: Any) -> str:
    """`file:line` of the line of `kernel` that ends in `# wrong`."""
    lines, first = inspect.getsourcelines(kernel.fn)
    marked = [first + i for i, line in enumerate(lines) if line.rstrip().endswith(MARK)]
    assert len(marked) == 1, "one line of the program must be marked"
    return f"{inspect.getsourcefile(kernel.fn)}:{marked[0]}"


@pytest.fixture
def refused() -> Callable[..., MinitritonError]:
    """Runs `call()` and gives the error, which must be one of minitriton's and hold all `pieces` in what it prints."""

    def check(call: Callable[[], Any], *pieces: str) -> MinitritonError:
        with pytest.raises(MinitritonError) as caught:
            call()
        text = str(caught.value)
        for piece in pieces:
            assert piece in text, f"{piece!r} is missing in:\n{text}"
        return caught.value

    return check


@pytest.fixture
def wrong_line() -> Callable[[Any], str]:
    """The place of a kernel's marked line, as errors print it."""
    return place_of_mark


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command's `main`; it must fail with an exit code and print an error that holds all `pieces`, no traceback."""

    def check(main: Callable[[list[str]], int], arguments: list[str], *pieces: str) -> str:
        try:
            code: Any = main(arguments)
        except SystemExit as exit:
            code = exit.code
        printed = capsys.readouterr()
        assert code not in (0, None)
        assert "Traceback" not in printed.err
        for piece in pieces:
            assert piece in printed.err, f"{piece!r} is missing in:\n{printed.err}"
        return printed.err

    return check
