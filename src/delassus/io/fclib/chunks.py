"""Chunked and compressed HDF5 data, looked at before libhdf5 unpacks it. Functions here may raise whatever h5py does.

libhdf5 inflates a gzip chunk to whatever size it has and never compares that with the size of the chunk: too much is
a decompression bomb, too little leaves memory uninitialised.
"""

import zlib

from h5py import h5d, h5z

COST = 4096  # bytes; measured 3.9 kB of bookkeeping in libhdf5 2.0 per chunk read
GZIP_RATIO = 1032  # deflate cannot do better, so a declared size beyond it is a lie
PIPELINES = [(), (h5z.FILTER_SHUFFLE,), (h5z.FILTER_DEFLATE,), (h5z.FILTER_SHUFFLE, h5z.FILTER_DEFLATE)]


def pipeline(dataset: h5d.DatasetID) -> tuple[int, ...]:
    """Codes of the filters, first applied first. (h5py's `Dataset.compression` fails if gzip's level is missing.)"""
    plist = dataset.get_create_plist()
    return tuple(plist.get_filter(k)[0] for k in range(plist.get_nfilters()))


def length(dataset: h5d.DatasetID) -> int:
    """Entries per chunk of a flat dataset, 0 if it is not chunked."""
    plist = dataset.get_create_plist()
    return int(plist.get_chunk()[0]) if plist.get_layout() == h5d.CHUNKED else 0


def unpack_to_their_size(dataset: h5d.DatasetID, file_size: int) -> bool:
    """Whether each gzip chunk of a flat dataset (pipeline in PIPELINES) inflates to exactly the size of a chunk.

    file_size: bytes; a chunk that claims to take more is not even read. Chunks never written do not count.
    """
    filters = pipeline(dataset)
    if h5z.FILTER_DEFLATE not in filters:
        return True
    deflate_skipped = 1 << (len(filters) - 1)  # bit of the chunk's filter mask; deflate is last in all PIPELINES
    step = length(dataset)
    expected = step * dataset.get_type().get_size()
    for start in range(0, dataset.shape[0], step):
        info = dataset.get_chunk_info_by_coord((start,))
        stored = info.size or 0
        if stored == 0:
            continue
        if stored > file_size:
            return False
        if info.filter_mask & deflate_skipped:
            size = stored
        else:
            size = _inflated_size(dataset.read_direct_chunk((start,))[1], expected)
        if size != expected:
            return False
    return True


def _inflated_size(packed: bytes, limit: int) -> int:
    """Length of the unpacked zlib stream [bytes], or -1 if it is broken, incomplete or longer than `limit`."""
    stream = zlib.decompressobj()
    try:
        size = len(stream.decompress(packed, limit + 1))
    except zlib.error:
        return -1
    return size if stream.eof else -1
