"""What pyproject.toml asks for admits no version with a known vulnerability, and no next major where a private interface is used."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
ALL = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
ALL += [one for extra in PROJECT["project"]["optional-dependencies"].values() for one in extra]
ASKED = {one.name: one.specifier for one in map(Requirement, ALL)}

VULNERABLE = {
    "setuptools": "78.1.0", "starlette": "0.49.0", "h11": "0.15.0", "pillow": "11.2.1",
}  # fmt: skip
"""The last versions before CVE-2025-47273, CVE-2025-62727, CVE-2025-43859 and CVE-2025-48379 were fixed."""

NEXT = {"nvidia-nvjitlink": "14.0", "cuda-bindings": "14.0", "uvicorn": "1.0"}


@pytest.mark.parametrize("name", VULNERABLE)
def test_no_vulnerable_version_is_admitted(name: str) -> None:
    assert not ASKED[name].contains(VULNERABLE[name])


@pytest.mark.parametrize("name", NEXT)
def test_the_next_major_is_not_admitted_where_an_interface_is_not_public(name: str) -> None:
    assert not ASKED[name].contains(NEXT[name])
