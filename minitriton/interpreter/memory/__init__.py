"""The meaning of ops on memory: device and shared memory, views, atomics, descriptors, copies and the barriers they complete on."""
