"""A folder for PYTHONPATH: in it, `triton` is minitriton. `run_as_triton` puts it there for the processes that a program starts."""
