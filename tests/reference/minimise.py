"""Taking a failing mechanism apart until the smallest that still fails is left (delta debugging)."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from random_mechanisms import Mechanism, Tie


def minimised(mechanism: Mechanism, fails: Callable[[Mechanism], bool]) -> Mechanism:
    """The smallest mechanism found that still fails: no single piece of it can be taken away."""
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(mechanism):
            if fails(smaller):
                mechanism, progress = smaller, True
                break
    return mechanism


def _smaller(m: Mechanism) -> Iterator[Mechanism]:
    """Mechanisms with one piece less, large pieces first."""
    for k in range(len(m.links)):
        if len(m.links) > 1:
            yield _without_link(m, k)
    for k in range(len(m.ties)):
        yield replace(m, ties=m.ties[:k] + m.ties[k + 1 :])
    if m.ground is not None:
        yield replace(m, ground=None)
    for name, plain in (("gravity", 0.0), ("mu", 0.0), ("restitution", 0.0)):
        if getattr(m, name) != plain:
            yield replace(m, **{name: plain})
    for k, tie in enumerate(m.ties):
        for simpler in _simpler(tie):
            yield replace(m, ties=(*m.ties[:k], simpler, *m.ties[k + 1 :]))
    for k, link in enumerate(m.links):
        for change in ({"touches": False}, {"velocity": np.zeros(6)}, {"mass": 1.0}, {"offset": np.zeros(3)}):
            name, value = next(iter(change.items()))
            if not np.array_equal(getattr(link, name), value):
                yield replace(m, links=(*m.links[:k], replace(link, **change), *m.links[k + 1 :]))


def _without_link(m: Mechanism, gone: int) -> Mechanism:
    """Without a body and its joints."""
    ties = tuple(
        replace(tie, base=tie.base - (tie.base > gone), follower=tie.follower - (tie.follower > gone))
        for tie in m.ties
        if gone not in (tie.base, tie.follower)
    )
    return replace(m, links=m.links[:gone] + m.links[gone + 1 :], ties=ties)


def _simpler(tie: Tie) -> Iterator[Tie]:
    """With one option of one coordinate taken away."""
    nothing = {"limits": None, "motors": None, "damping": 0.0, "friction": 0.0, "effort": 0.0}
    for name, plain in nothing.items():
        values = getattr(tie, name)
        for k, value in enumerate(values):
            if value is not plain and value != plain:
                yield replace(tie, **{name: (*values[:k], plain, *values[k + 1 :])})
    for k, (centre, amplitude, rate) in enumerate(tie.drive):
        if amplitude:
            yield replace(tie, drive=(*tie.drive[:k], (centre, 0.0, rate), *tie.drive[k + 1 :]))
    if tie.base >= 0:
        yield replace(tie, base=-1)
