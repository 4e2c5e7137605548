"""Numbers as the GPU computes them: rounding, narrow floats, packed halves, integer instructions that NumPy lacks."""
