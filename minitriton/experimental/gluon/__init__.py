"""Host-side values of Gluon: descriptors and the layouts in them."""
