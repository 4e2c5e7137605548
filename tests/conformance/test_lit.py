"""Triton's lit tests of the passes that minitriton has, from the checkout that TRITON_SRC names."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from lit_runner import FILES, run_file

SOURCE = os.environ.get("TRITON_SRC")


@pytest.mark.skipif(SOURCE is None, reason="TRITON_SRC names no checkout of Triton")
@pytest.mark.parametrize("name", FILES)
def test_every_chunk_passes(name: str) -> None:
    failing = [o for o in run_file(Path(SOURCE or ""), name) if not o.passed and not o.excused]
    assert not failing, "\n".join(f"chunk {o.chunk}: {o.detail}" for o in failing)
