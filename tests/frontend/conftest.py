"""The helper modules beside the tests (kernels, the comparison with Triton) are importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
