"""The text of the `nvvm` dialect as LLVM IR: inline PTX and calls of LLVM's intrinsics, a module of writers for each family of ops."""
