# pythran export gather(uint16[:,:,:] order(C), uint64[:,:,:] order(C), uint16[:,:,:] order(C))
# pythran export gather(uint32[:,:,:] order(C), uint64[:,:,:] order(C), uint32[:,:,:] order(C))
# pythran export gather(uint64[:,:,:] order(C), uint64[:,:,:] order(C), uint64[:,:,:] order(C))
# pythran export scatter_add(float32[:,:,:] order(C), uint64[:,:,:] order(C), float32[:,:,:] order(C))
# pythran export scatter_add(float64[:,:,:] order(C), uint64[:,:,:] order(C), float64[:,:,:] order(C))
# pythran export scatter_add(uint64[:,:,:] order(C), uint64[:,:,:] order(C), uint64[:,:,:] order(C))
# pythran export add_slices(float32[:,:,:] order(C), uint64[], float32[:,:,:] order(C))
# pythran export add_slices(float64[:,:,:] order(C), uint64[], float64[:,:,:] order(C))
"""Items named by their places on the middle axis. The places lie within it."""


def _pick(words, places, out):
    for j in range(out.shape[0]):
        out[j, 0] = words[places[j, 0], 0]


def gather(words, places, out):
    for outer in range(out.shape[0]):
        if out.shape[2] == 1:
            _pick(words[outer], places[outer], out[outer])
        else:
            for j in range(out.shape[1]):
                for i in range(out.shape[2]):
                    out[outer, j, i] = words[outer, places[outer, j, i], i]


def scatter_add(target, places, values):
    """In the order of the values, so that sums are the same every time."""
    for outer in range(values.shape[0]):
        for j in range(values.shape[1]):
            for i in range(values.shape[2]):
                target[outer, places[outer, j, i], i] += values[outer, j, i]


def _add(values, out):
    for i in range(out.shape[0]):
        out[i] = out[i] + values[i]


def add_slices(target, places, values):
    for outer in range(values.shape[0]):
        for j in range(values.shape[1]):
            _add(values[outer, j], target[outer, places[j]])
