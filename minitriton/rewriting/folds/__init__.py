"""Folders of all ops, one module an op family; importing this package registers them."""

from minitriton.rewriting.folds import arith_cast as arith_cast
from minitriton.rewriting.folds import arith_float as arith_float
from minitriton.rewriting.folds import arith_int as arith_int
from minitriton.rewriting.folds import tt as tt
