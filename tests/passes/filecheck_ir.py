"""Run passes on a piece of IR and compare the text with `filecheck` lines."""

from __future__ import annotations

import io
import tempfile
import textwrap
from contextlib import redirect_stderr
from pathlib import Path

from filecheck.matcher import Matcher
from filecheck.options import Options

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module
from minitriton.pipeline.pass_registry import Pass


def run(source: str, *passes: Pass) -> str:
    """The text of `source` after `passes`; the module is verified."""
    module = parse_module(textwrap.dedent(source))
    context = make_context()
    for each in passes:
        each.apply(context, module)
    module.verify()
    return print_module(module)


def check(source: str, passes: Pass | list[Pass], expected: str) -> None:
    """Assert that the text of `source` after `passes` matches the CHECK lines of `expected`."""
    assert_matches(run(source, *(passes if isinstance(passes, list) else [passes])), expected)


def assert_matches(text: str, expected: str) -> None:
    """Assert that `text` matches the CHECK lines of `expected`."""
    errors = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(errors):
        lines, output = Path(folder, "expected"), Path(folder, "output")
        lines.write_text(textwrap.dedent(expected))
        output.write_text(text)
        code = Matcher.from_opts(Options(match_filename=str(lines), input_file=str(output))).run()
    assert code == 0, f"{errors.getvalue()}\n--- output ---\n{text}"
