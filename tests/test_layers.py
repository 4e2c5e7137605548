"""The architecture is tested: imports go down the layers of docs/architecture.md, and packages of a layer stay apart."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "minitriton"

LAYERS = {
    "errors": 0, "architectures": 0, "identity": 0, "locks": 0, "option_types": 0, "file_names": 0, "target": 0, "layouts": 0, "language": 0, "host_functions": 0, "knobs": 0, "hook_types": 0, "tensor_map": 0, "deep_stack": 0, "damaged_files": 0,
    "dialects": 1, "pass_registry": 1, "remarks": 1,
    "rewriting": 2, "analysis": 2,
    "frontend": 3, "passes": 3, "codegen": 3, "interpreter": 3,
    "pipeline_spec": 4, "pass_manager": 4, "pipelines": 4, "compiler": 4, "compiled_parts": 4, "sources": 4, "dumps": 4, "stages": 4, "overrides": 4,
    "runtime": 5, "backends": 5, "emulator": 5, "_utils": 5,
    "opt": 6, "cli": 6, "cache_command": 6, "demo": 6, "testing": 6, "tools": 6, "lab": 6, "explorer": 6, "fuzz": 6, "run_as_triton": 6, "triton_distribution": 6, "_internal_testing": 6, "_filecheck": 6, "__main__": 6, "_alias": 6, "_C": 6, "experimental": 6,
}  # fmt: skip

APART = {"layouts", "language", "frontend", "passes", "codegen", "interpreter", "emulator", "runtime"}
"""Packages that do not import the other packages of their layer."""


def imports_at_module_level(path: Path) -> set[str]:
    """First components below `minitriton` of what a file imports when it is loaded (not inside functions)."""
    found: set[str] = set()
    pending: list[ast.AST] = list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "minitriton" else [f"minitriton.{a.name}" for a in node.names]
        found |= {n.split(".")[1] for n in names if n.startswith("minitriton.")}
        pending.extend(ast.iter_child_nodes(node))
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(PACKAGE)) for p in FILES])
def test_imports_go_down_the_layers(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__init__":
        assert not imports_at_module_level(path), "the package's __init__ imports lazily"
        return
    assert own in LAYERS, f"{own} has no layer: name one in docs/architecture.md and here"
    for other in imports_at_module_level(path) - {own}:
        assert LAYERS[other] <= LAYERS[own], f"{own} (layer {LAYERS[own]}) imports {other} (layer {LAYERS[other]})"
        if LAYERS[other] == LAYERS[own] and other in APART and own in APART:
            raise AssertionError(f"{own} and {other} are of one layer and do not import each other")
