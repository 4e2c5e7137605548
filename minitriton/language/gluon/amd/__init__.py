"""What AMD GPUs have beyond the common language, an architecture a package. Kernels become IR; no back end lowers it yet."""

from minitriton.language.gluon.amd import cdna3, cdna4, gfx1250, rdna3, rdna4
from minitriton.language.gluon.amd._layouts import AMDMFMALayout, AMDWMMALayout

__all__ = ["AMDMFMALayout", "AMDWMMALayout", "cdna3", "cdna4", "gfx1250", "rdna3", "rdna4"]
