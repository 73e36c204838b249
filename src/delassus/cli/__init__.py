"""The command line. No module here may import NumPy, Numba, SciPy, h5py or Matplotlib before a command runs."""
