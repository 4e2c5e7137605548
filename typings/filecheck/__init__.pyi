"""What minitriton uses of filecheck, which need not be installed where types are checked."""
