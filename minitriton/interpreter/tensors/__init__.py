"""The meaning of ops on whole tensors: shapes, reductions and scans, matmuls."""
