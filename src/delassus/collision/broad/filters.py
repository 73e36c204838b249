"""Which two shapes may touch at all."""

from numba import njit


@njit(cache=True, error_model="numpy")
def may_touch(i, j, body, owner, group, mask, excluded):
    """Different bodies, at least one of them movable, groups that see each other, and no exclusion.

    excluded: sorted keys lower · 2³² + higher of pairs of owners."""
    if body[i] == body[j]:  # also two shapes of the world, −1
        return False
    if (group[i] & mask[j]) == 0 or (group[j] & mask[i]) == 0:
        return False
    if len(excluded):
        a, b = owner[i], owner[j]
        key = (min(a, b) << 32) + max(a, b)
        lo, hi = 0, len(excluded)  # np.searchsorted would take a second to compile
        while lo < hi:
            middle = (lo + hi) // 2
            if excluded[middle] < key:
                lo = middle + 1
            else:
                hi = middle
        if lo < len(excluded) and excluded[lo] == key:
            return False
    return True
