"""Steps per second of Newton's SolverKamino on the CPU, printed as JSON. Run by the Python that has newton installed.

Printed are also, for whoever measures how accurate it is: poses of the bodies (place, then quaternion w, x, y, z) after
every tenth step of the rounds that count, half edges of their boxes, and the joints with their frames in both bodies.

Settings are those of Newton's own four-bar example (accelerated ADMM, preconditioning, warm start) with the tolerance
of 1e-4 it uses; only the viewer is left out.
"""

import argparse
import json
import statistics
import time

import newton
import numpy as np
import warp as wp
from newton.tests.utils import basics

SAMPLED = 10  # steps between two poses that are kept


def build(name: str):
    builder = newton.ModelBuilder(up_axis=newton.Axis.Z)
    newton.solvers.SolverKamino.register_custom_attributes(builder)
    builder.default_shape_cfg.margin = 0.0
    builder.default_shape_cfg.gap = 0.0
    if name == "four-bar":
        basics.build_boxes_fourbar(builder=builder, fixedbase=True, ground=False, limits=False)
    elif name == "four-bar-free":
        basics.build_boxes_fourbar(builder=builder, ground=True, limits=False, z_offset=0.2)
    else:
        builder.add_ground_plane()
        for k in range(3):
            body = builder.add_body(xform=wp.transform((0.0, 0.0, 0.1 + 0.2 * k), wp.quat_identity()))
            builder.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1)
    return builder.finalize(skip_validation_joints=True)


def configured(model, tol: float):
    config = newton.solvers.SolverKamino.Config.from_model(model)
    config.use_collision_detector = True
    config.collision_detector.pipeline = "unified"  # the primitive one knows no planes
    config.collision_detector.max_contacts = 64
    config.dynamics.preconditioning = True
    config.padmm.primal_tolerance = config.padmm.dual_tolerance = config.padmm.compl_tolerance = tol
    config.padmm.max_iterations = 200
    config.padmm.rho_0 = 0.1
    config.padmm.use_acceleration = True
    config.padmm.warmstart_mode = "containers"
    config.padmm.contact_warmstart_method = "geom_pair_net_force"
    return newton.solvers.SolverKamino(model=model, config=config)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", choices=["four-bar", "four-bar-free", "box-stack"])
    parser.add_argument("--dt", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tol", type=float, default=1e-4)
    options = parser.parse_args()
    wp.config.quiet = True
    with wp.ScopedDevice("cpu"):
        model = build(options.scene)
        solver = configured(model, options.tol)
        now, after = model.state(), model.state()
        control = model.control()
        contacts = newton.CollisionPipeline(model).contacts()
        rates, per_processor, poses = [], [], []
        for _ in range(options.rounds + 1):
            start, used = time.perf_counter(), time.process_time()
            for k in range(options.steps):
                now.clear_forces()
                solver.step(now, after, control, contacts, options.dt)
                now, after = after, now
                if rates and k % SAMPLED == 0:
                    poses.append(now.body_q.numpy().copy())
            rates.append(options.steps / (time.perf_counter() - start))
            per_processor.append(options.steps / (time.process_time() - used))
    # the first round compiles
    print(
        json.dumps(
            {
                "scene": options.scene,
                "steps_per_second": statistics.median(rates[1:]),
                "steps_per_processor_second": statistics.median(per_processor[1:]),
                "newton": newton.__version__,
                "poses": _scalar_first(np.array(poses)).tolist(),
                "half": [
                    model.shape_scale.numpy()[s].tolist()
                    for b in range(model.body_count)
                    for s in model.body_shapes[b][:1]
                ],
                "joints": [
                    [int(a), int(b), at.tolist(), other.tolist()]
                    for a, b, at, other in zip(
                        model.joint_parent.numpy(),
                        model.joint_child.numpy(),
                        _scalar_first(model.joint_X_p.numpy()),
                        _scalar_first(model.joint_X_c.numpy()),
                    )
                    if a >= 0
                ],
            }
        )
    )


def _scalar_first(poses: np.ndarray) -> np.ndarray:
    """Newton's quaternions end with the scalar."""
    return poses[..., [0, 1, 2, 6, 3, 4, 5]].astype(float)


if __name__ == "__main__":
    main()
