"""From a kernel of `tl` to one in Gluon that computes the same: `translator` writes the source, whose helpers are in
`translator_helpers`."""
