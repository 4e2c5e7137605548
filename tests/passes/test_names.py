"""The tables that say which module registers which pass agree with the files; a pipeline imports the modules of its passes and no others."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import minitriton
from minitriton.errors import PipelineError
from minitriton.pipeline.pass_registry import Pass, load_own_passes, own_passes, register_pass, registered_passes
from minitriton.pipeline.pipeline_spec import make_step
from minitriton.target.backends import BACKENDS

PACKAGE = Path(minitriton.__file__).parent


def test_the_tables_name_what_the_files_register() -> None:
    load_own_passes()
    registered = {
        name: cls.__module__ for name, cls in registered_passes().items() if cls.__module__.startswith("minitriton.")
    }
    # another test of this process may have loaded those of other back ends
    elsewhere = {name: module for each in BACKENDS.values() for name, module in each.passes.items()}
    assert registered == own_passes() | {name: elsewhere[name] for name in registered.keys() - own_passes().keys()}


def test_every_file_that_registers_a_pass_is_in_a_table() -> None:
    files = [path for folder in ("passes", "codegen") for path in (PACKAGE / folder).rglob("*.py")]
    found = {
        ".".join(("minitriton", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for path in files
        if re.search(r"^@register_pass$", path.read_text(), re.MULTILINE)
    }
    named = {*own_passes().values(), *(module for backend in BACKENDS.values() for module in backend.passes.values())}
    assert found == named, "add the pass to minitriton/passes/names.py, or to its back end"


def test_a_name_of_a_pass_that_is_not_imported_yet_is_taken() -> None:
    program = """
        import sys
        from minitriton.errors import PipelineError
        from minitriton.pipeline.pass_registry import Pass, register_pass
        assert "minitriton.passes.cse" not in sys.modules
        class Mine(Pass):
            name = "cse"
        try:
            register_pass(Mine)
        except PipelineError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert "a pass named 'cse' is already registered by minitriton.passes.cse" in done.stdout, done.stderr


def test_a_pipeline_imports_the_passes_that_it_names() -> None:
    program = """
        import sys
        from minitriton.pipeline.pass_manager import Pipeline
        Pipeline.parse("inline,cse")
        print("minitriton.passes.cse" in sys.modules, "minitriton.passes.sccp" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False"], done.stderr


def test_an_unknown_pass_is_refused_with_the_closest_name_of_all() -> None:
    with pytest.raises(PipelineError) as caught:
        make_step("tritongpu-coalesc", {})
    assert caught.value.help == "did you mean 'tritongpu-coalesce'?"


def test_a_pass_of_another_module_may_not_take_a_name_of_ours() -> None:
    class Mine(Pass):
        name = "cse"

    with pytest.raises(PipelineError, match="already registered by"):
        register_pass(Mine)
