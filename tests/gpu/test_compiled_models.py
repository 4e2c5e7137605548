"""Models that torch's Inductor compiles give under minitriton what they give under Triton."""

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent)]

from compiled_models import CASES, compare

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", CASES)
def test_a_compiled_model_is_as_near_to_float64_as_with_triton(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    said, well = compare(name, tmp_path)
    assert well, said
