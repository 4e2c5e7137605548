"""Triton programs: they import `triton`, and are opened as a kernel of one's own is."""
