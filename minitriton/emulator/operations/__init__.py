"""What instructions do when they run: functions that translated blocks call with NumPy arrays."""
