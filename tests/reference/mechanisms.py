"""Mechanisms with loops, built closed."""

import numpy as np

from delassus.builder import ModelBuilder
from delassus.spatial import axis_frame


def link(builder, start, end, *, mass=1.0, velocity=(0, 0, 0), name=None):
    """A slender rod between two points, without shapes."""
    start, end = np.array(start, float), np.array(end, float)
    length = np.linalg.norm(end - start)
    frame = axis_frame(end - start)
    inertia = np.diag([mass * length**2 / 12, mass * length**2 / 12, 1e-3 * mass])
    return builder.body(
        name, position=(start + end) / 2, mass=mass, inertia=frame @ inertia @ frame.T, velocity=velocity
    )


def four_bar(lengths=(1.0, 2.0, 1.5), ground=2.2, gravity=(0, 0, -9.81)):
    """Crank, coupler and rocker in the x-z plane, all revolute: three redundant rows."""
    builder = ModelBuilder(gravity=gravity)
    crank, coupler, rocker = lengths
    angle = 1.0
    b = np.array([crank * np.cos(angle), 0, crank * np.sin(angle)])
    d = np.array([ground, 0, 0]) - b
    far = np.linalg.norm(d)
    x = (coupler**2 - rocker**2 + far**2) / (2 * far)
    c = b + x * d / far + np.sqrt(coupler**2 - x**2) * np.array([-d[2], 0, d[0]]) / far
    c = c if c[2] > 0 else b + x * d / far - np.sqrt(coupler**2 - x**2) * np.array([-d[2], 0, d[0]]) / far
    points = [np.zeros(3), b, c, np.array([ground, 0, 0])]
    bodies = [link(builder, points[k], points[k + 1], mass=1.0 + k) for k in range(3)]
    for k, (base, follower) in enumerate([(None, 0), (0, 1), (1, 2)]):
        base = None if base is None else bodies[base]
        builder.joint("revolute", base, bodies[follower], position=points[k], axis=(0, 1, 0))
    builder.joint("revolute", None, bodies[2], position=points[3], axis=(0, 1, 0))
    return builder.build()


def bennett(alpha=0.7, beta=1.3, a=1.0, gravity=(0, 0, -9.81), theta=0.8):
    """Bennett's linkage: four revolutes that should be rigid and are not. a sin β = b sin α."""
    b = a * np.sin(beta) / np.sin(alpha)
    # closure of Denavit–Hartenberg frames: tan(θ1/2) tan(θ2/2) = sin((β+α)/2) / sin((β−α)/2), θ3 = −θ1, θ4 = −θ2
    ratio = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)
    second = 2 * np.arctan(ratio / np.tan(theta / 2))
    turns = [theta, second, 2 * np.pi - theta, 2 * np.pi - second]
    twists, spans = [alpha, beta, alpha, beta], [a, b, a, b]
    T = np.eye(4)
    axes, points = [], []
    for k in range(4):
        axes.append(T[:3, 2].copy())
        points.append(T[:3, 3].copy())
        c, s, ca, sa = np.cos(turns[k]), np.sin(turns[k]), np.cos(twists[k]), np.sin(twists[k])
        T = T @ np.array(
            [[c, -s * ca, s * sa, spans[k] * c], [s, c * ca, -c * sa, spans[k] * s], [0, sa, ca, 0], [0, 0, 0, 1]]
        )
    gap = np.abs(T - np.eye(4)).max()
    builder = ModelBuilder(gravity=gravity)
    rods = [link(builder, points[k], points[(k + 1) % 4]) for k in range(1, 4)]
    for k, (base, follower) in enumerate([(None, rods[0]), (rods[0], rods[1]), (rods[1], rods[2]), (None, rods[2])]):
        at = (k + 1) % 4
        builder.joint("revolute", base, follower, position=points[at], axis=axes[at])
    return *builder.build(), gap


def stewart(legs=6):
    """A platform on six legs: universal joint below, slider within, ball joint above; every leg closes a loop."""
    builder = ModelBuilder()
    plate = builder.body("plate", position=(0, 0, 1.0), mass=10.0, inertia=(1.0, 1.0, 2.0))
    for k in range(legs):
        low = 2 * np.pi * (k // 2) / 3 + (0.25 if k % 2 else -0.25)
        high = 2 * np.pi * (k // 2) / 3 + (0.8 if k % 2 else -0.8)
        foot = np.array([np.cos(low), np.sin(low), 0.0])
        head = np.array([0.6 * np.cos(high), 0.6 * np.sin(high), 1.0])
        along = (head - foot) / np.linalg.norm(head - foot)
        middle = (foot + head) / 2
        lower = link(builder, foot, middle)
        upper = link(builder, middle, head)
        frame = axis_frame(along)
        builder.joint("universal", None, lower, position=foot, frame=frame)
        builder.joint("prismatic", lower, upper, position=middle, axis=along, damping=50.0)
        builder.joint("spherical", upper, plate, position=head)
    return builder.build()
