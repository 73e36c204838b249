"""Pseudo-arclength continuation: a path F(x, t) = 0 followed from a root towards falling t, through its folds.

Predictor: the tangent. Corrector: Newton's method in the hyperplane normal to it, one factorisation and two right sides
each, in the metric ‖dx‖² / ‖x‖² + θ² dt². Which way the tangent points follows from the sign of det ∂F/∂x, which
changes where t turns: angles alone reversed paths in sharp turns.

`Path.follow` yields before every linear system, so that the caller may stop there and go on later.
"""

import math
from collections.abc import Generator
from typing import NamedTuple, Protocol

import numpy as np

THETA = 1e-2  # weight of t in the metric: paths of slips change x by percents while t goes from 1 to 0
FIRST_STEP, LONGEST_STEP, SHORTEST_STEP = 1e-3, 1.0, 1e-10  # in the metric
SMALL_CORRECTION = 1e-3  # of a step: there the corrector stops, since the next one would be its square
FLOOR = 1e-9  # in the metric: corrections below are rounding
MOST_CORRECTIONS = 9
FAR, GROWN, SLOW = 2.0, 2.0, 0.8  # a corrector fails beyond so many steps, after such growth, or with no better rate
FIRST_CORRECTION = 0.25  # of the step, which its length is controlled for
LEAST_COSINE, MOST_BENT = 0.5, 0.5  # between tangents; from the predicted to the corrected point, over the step
STRAIGHT, TURNING_GAIN = 0.9, 1.5  # cosine below which steps grow by no more than this
MOST_GAIN, LEAST_GAIN, EASY_CORRECTIONS = 10.0, 0.5, 5  # of the length; of corrections beyond so many it does not grow
CUT, CUT_AGAIN = 0.3, 0.1  # of the length after one failure, and after more in a row
BASE_CORRECTIONS = 4  # on the point a path or a shorter step begins at
SMALL_ROOT = 0.1  # rms of x, in units of `System`, below which the metric is no longer relative to it

Steps = Generator[None, None, None]


class Curve(Protocol):
    """What can be followed."""

    def solve(self, x: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """(∂F/∂x)⁻¹ F and (∂F/∂x)⁻¹ ∂F/∂t, (m,) each."""

    def sign(self) -> float:
        """Of det ∂F/∂x where `solve` was called last; NaN where it is not known."""


class Corrected(NamedTuple):
    """A point on the path: x (m,), t, (∂F/∂x)⁻¹ ∂F/∂t (m,), and the corrections it took."""

    x: np.ndarray
    t: float
    by_t: np.ndarray
    first: float  # over the step
    last: float
    corrections: int


class Path:
    """One path.  x (m,), t: near a root; t_end: where it is to land; most: systems; t_most: beyond it is lost."""

    def __init__(self, curve: Curve, x: np.ndarray, t: float, t_end: float, *, most: int, t_most: float = math.inf):
        self.curve, self.x, self.t, self.t_end, self.most, self.t_most = curve, x, t, t_end, most, t_most
        self.weight = 1.0 / max(float(x @ x), SMALL_ROOT**2 * max(len(x), 1))
        self.tangent, self.slope = np.zeros_like(x), -1.0  # of x and of t
        self.orientation, self.length, self.base = 1.0, FIRST_STEP, math.inf  # base: last correction of x
        self.systems = self.steps = self.failed = self.folds = self.failed_in_a_row = 0
        self.landed = self.is_over = False

    @property
    def words(self) -> str:
        """What was done so far."""
        counts = f"{self.systems} systems, {self.steps} steps, {self.failed} failed, {self.folds} folds"
        if self.landed:
            return f"{counts}, landed"
        return f"{counts}, {'lost' if self.is_over else 'left'} at t = {self.t:.3g}"

    def follow(self) -> Steps:
        """Until it has landed, is lost, or has taken as many systems as it may."""
        yield from self._begin()
        while not self.is_over and self.systems < self.most:
            is_landing = self.slope < 0.0 and self.t + self.length * self.slope <= self.t_end
            step = max((self.t_end - self.t) / self.slope, 1e-12) if is_landing else self.length
            found = yield from self._correct(step, is_landing)
            if found is not None and is_landing:
                self.x, self.t, self.landed, self.is_over = found.x, self.t_end, True, True
            elif found is None or not self._accept(found):
                yield from self._shorten(step)

    def _solve(self, x: np.ndarray, t: float) -> Generator[None, None, tuple[np.ndarray, np.ndarray]]:
        yield
        self.systems += 1
        return self.curve.solve(x, t)

    def _size(self, dx: np.ndarray, dt: float) -> float:
        return math.sqrt(self.weight * float(dx @ dx) + THETA * THETA * dt * dt)

    def _inside(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
        """Newton's step (dx, dt) in the hyperplane normal to the tangent, from what `solve` gives."""
        along = THETA * THETA * self.slope - self.weight * float(self.tangent @ b)
        dt = self.weight * float(self.tangent @ a) / along if along else math.nan
        return -a - b * dt, dt

    def _begin(self) -> Steps:
        """A root at the first t, and the tangent there, towards falling t."""
        for _ in range(BASE_CORRECTIONS):
            a, b = yield from self._solve(self.x, self.t)
            self.x, self.base = self.x - a, self._size(a, 0.0)
            if self.base < FLOOR:
                break
        if not (math.isfinite(self.base) and np.isfinite(b).all()):
            self.is_over = True
            return
        self.slope = -1.0 / self._size(b, 1.0)
        self.tangent = -b * self.slope
        sign = self.curve.sign()
        self.orientation = -sign if math.isfinite(sign) else -1.0

    def _correct(self, step: float, is_landing: bool) -> Generator[None, None, Corrected | None]:
        """From the predicted point to the path; None where that fails.  is_landing: t stays where it is."""
        x = self.x + step * self.tangent
        t = self.t_end if is_landing else self.t + step * self.slope
        first = last = math.inf
        for count in range(MOST_CORRECTIONS):
            a, b = yield from self._solve(x, t)
            if not (np.isfinite(a).all() and np.isfinite(b).all()):
                return None
            dx, dt = (-a, 0.0) if is_landing else self._inside(a, b)
            now = self._size(dx, dt)
            first = now / step if count == 0 else first
            is_far = now > FAR * step + 10.0 * FLOOR or (count > 0 and now > max(GROWN * last, 3.0 * FLOOR))
            if is_far or not math.isfinite(now) or (count > 2 and now > max(SLOW * last, 10.0 * FLOOR)):
                return None
            last, x, t = now, x + dx, t + dt
            if now <= max(SMALL_CORRECTION * step, FLOOR):
                return Corrected(x, t, b, first, last, count)
        return None

    def _accept(self, found: Corrected) -> bool:
        """Go there, unless the path has turned or bent so much that it may be another one."""
        norm, sign, h = self._size(found.by_t, 1.0), self.curve.sign(), self.length
        slope = self.orientation * sign / norm if math.isfinite(sign) else math.copysign(1.0 / norm, self.slope)
        tangent = -found.by_t * slope
        cosine = self.weight * float(tangent @ self.tangent) + THETA * THETA * slope * self.slope
        bent = self._size(found.x - self.x - h * self.tangent, found.t - self.t - h * self.slope)
        if cosine < LEAST_COSINE or bent > MOST_BENT * h:
            return False
        self.steps, self.failed_in_a_row, self.folds = self.steps + 1, 0, self.folds + (slope * self.slope < 0.0)
        self.x, self.t, self.tangent, self.slope, self.base = found.x, found.t, tangent, slope, found.last
        gain = min(max(FIRST_CORRECTION / max(found.first, 1e-3), LEAST_GAIN), MOST_GAIN)
        if cosine < STRAIGHT:
            gain = min(gain, TURNING_GAIN)
        if found.corrections >= EASY_CORRECTIONS:
            gain = min(gain, 1.0)
        self.length = min(h * gain, LONGEST_STEP)
        self.is_over = self.t > self.t_most
        return True

    def _shorten(self, step: float) -> Steps:
        """Try a shorter step, from a point that is as exact as it asks for."""
        self.failed, self.failed_in_a_row = self.failed + 1, self.failed_in_a_row + 1
        self.length = step * (CUT if self.failed_in_a_row == 1 else CUT_AGAIN)
        for _ in range(BASE_CORRECTIONS):
            if self.base <= max(SMALL_CORRECTION * self.length, FLOOR):
                break
            a, b = yield from self._solve(self.x, self.t)
            dx, dt = self._inside(a, b)
            self.base = self._size(dx, dt)
            if not math.isfinite(self.base):
                break
            self.x, self.t = self.x + dx, self.t + dt
            turn = THETA * THETA * self.slope - self.weight * float(b @ self.tangent)
            self.slope = math.copysign(1.0 / self._size(b, 1.0), turn)
            self.tangent = -b * self.slope
        self.is_over = self.length < SHORTEST_STEP or not math.isfinite(self.base)
