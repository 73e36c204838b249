"""Detection among many shapes, for the compiled step."""

from delassus.collision.many import find_contacts_many
from delassus.kernel import ADDRESSED, njit

BAD_POSE, NO_KERNEL, NO_ROOM = -1, -2, -3
"""Instead of a number of contacts: a pose that is none, a family of pairs not compiled yet, more contacts than room."""


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED)
def detect_many(shapes, q, reach, work, columns, takes):
    """How many contacts there are, or what is in the way.  The arguments are those of `find_contacts_many`."""
    bad, total, missing = find_contacts_many(shapes, q, reach, work, columns, takes)
    if bad >= 0:
        return BAD_POSE
    if missing != 0:
        return NO_KERNEL
    if takes[0] > len(work[8]) or takes[1] > len(work[11]) or takes[2] > len(columns[4]):
        return NO_ROOM
    return total
