"""Layouts: where the elements of a tensor are, as linear maps over F2. Pure values, no IR.

encodings        the parameters of Triton's layout attributes, as frozen values
to_linear        an encoding on a shape as a `LinearLayout`            (nvmma_layout, cta_split)
linear_layout    the maps: apply, compose, invert, divide               (algebra, f2)
builders         the encodings that Triton chooses from a shape
properties       order, elements a thread, contiguity of an encoding
inference        an encoding through reshapes, transposes, slices
conversion       what it takes to get from one encoding to another      (warp_shuffle, swizzling)
memory           registers meeting shared and global memory
plans            what the last two hand to a lowering
"""
