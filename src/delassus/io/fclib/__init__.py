"""FCLIB files (HDF5) as plain arrays: `read_fclib`, `write_fclib` and what they carry.

    from delassus.io.fclib import read_fclib, write_fclib

    raw = read_fclib("pile.hdf5")
    print(raw.form, raw.contact_count, raw.W.to_csr().nnz)
    write_fclib("copy.hdf5", raw)

This layer knows the file format and nothing about solvers. FCLIB: Acary, Brémond, Koziara, Pérignon, INRIA
technical report RT-0444, 2014; the reference reader and writer is libfclib 3.1.
"""

from delassus.io.fclib.file import FclibFile, FclibInfo, FclibMatrix, FclibMatrixInfo, FclibPoint
from delassus.io.fclib.read import read_fclib
from delassus.io.fclib.write import write_fclib

__all__ = ["FclibFile", "FclibInfo", "FclibMatrix", "FclibMatrixInfo", "FclibPoint", "read_fclib", "write_fclib"]
