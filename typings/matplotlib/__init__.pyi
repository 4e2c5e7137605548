"""What minitriton uses of matplotlib, whose own types leave much open and which need not be installed where types are checked."""
