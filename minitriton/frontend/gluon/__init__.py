"""What Gluon's operations mean in the IR: the rules for what `tl` does not have. Everything else is compiled by the rules of `tl`."""
