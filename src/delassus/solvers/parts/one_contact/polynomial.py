"""Real roots of small polynomials on [0, ∞), by monotone pieces: no complex arithmetic, no eigenvalues."""

from delassus.kernel import njit

_STEPS = 120  # of bisection: more than a double has digits


@njit(cache=True)
def evaluate(c, degree, x):
    """c[0] + c[1] x + … by Horner's rule."""
    value = c[degree]
    for i in range(degree - 1, -1, -1):
        value = value * x + c[i]
    return value


@njit(cache=True)
def positive_roots(c, degree, work, roots):
    """Real roots of c[0] + … + c[degree] x^degree in (0, ∞), written to `roots`; returns their number.

    [0, 1] is searched directly and [1, ∞) as 1/x of the reversed polynomial, so no bound on the roots is needed.
    work: (degree + 1, degree + 1) scratch for the derivatives, overwritten; roots: room for 2·degree numbers.
    """
    count = _roots_to_one(c, degree, work, roots, 0)
    reverse = work[degree]
    for i in range(degree + 1):
        reverse[i] = c[degree - i]
    found = _roots_to_one(reverse, degree, work, roots, count)
    keep = count
    for i in range(count, found):
        if roots[i] > 0.0:
            roots[keep] = 1.0 / roots[i]
            keep += 1
    return keep


@njit(cache=True)
def _roots_to_one(c, degree, work, roots, first):
    """Append the roots of c in [0, 1] to roots[first:]; returns the new count.

    Derivatives of falling order cut [0, 1] into pieces on which the next polynomial is monotone.
    Rows 0 … degree − 1 of work hold, in turn, the cut points of the current level.
    """
    cuts = work[0]
    cut_count = 0
    for order in range(degree - 1, -1, -1):
        # coefficients of the derivative of that order, in place of row 1
        p = work[1]
        power = degree - order
        for i in range(power + 1):
            value = c[i + order]
            for j in range(order):
                value *= i + order - j
            p[i] = value
        fresh = work[2]
        found = 0
        left = 0.0
        for piece in range(cut_count + 1):
            right = cuts[piece] if piece < cut_count else 1.0
            root = _bracketed_root(p, power, left, right)
            if root >= 0.0:
                fresh[found] = root
                found += 1
            left = right
        cut_count = found
        for i in range(found):
            cuts[i] = fresh[i]
    for i in range(cut_count):
        roots[first + i] = cuts[i]
    return first + cut_count


@njit(cache=True)
def _bracketed_root(p, degree, left, right):
    """The root of a function monotone on [left, right], or −1. Bisection, since speed does not matter here."""
    low, high = evaluate(p, degree, left), evaluate(p, degree, right)
    if low == 0.0:
        return left
    if high == 0.0:
        return right
    if (low < 0.0) == (high < 0.0):
        return -1.0
    for _ in range(_STEPS):
        middle = 0.5 * (left + right)
        if middle <= left or middle >= right:
            break
        value = evaluate(p, degree, middle)
        if value == 0.0:
            return middle
        if (value < 0.0) == (low < 0.0):
            left = middle
        else:
            right = middle
    return 0.5 * (left + right)
