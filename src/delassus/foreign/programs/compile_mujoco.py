"""MuJoCo's compiler: MJCF or URDF text and its assets in, the compiled model's arrays out. See run.py."""

from typing import Any

# Arrays of MjModel that the importer reads.
WANTED = (
    "body_parentid", "body_weldid", "body_mocapid", "body_pos", "body_quat", "body_mass", "body_inertia", "body_ipos",
    "body_iquat", "body_jntadr", "body_jntnum", "body_gravcomp",
    "jnt_type", "jnt_bodyid", "jnt_qposadr", "jnt_dofadr", "jnt_pos", "jnt_axis", "jnt_limited", "jnt_range",
    "jnt_stiffness", "jnt_actfrclimited", "jnt_actfrcrange", "jnt_margin",
    "dof_armature", "dof_damping", "dof_frictionloss", "qpos0", "qpos_spring",
    "geom_type", "geom_bodyid", "geom_dataid", "geom_contype", "geom_conaffinity", "geom_condim", "geom_priority",
    "geom_rgba", "geom_friction", "geom_size", "geom_pos", "geom_quat", "geom_margin", "geom_gap", "geom_solref",
    "geom_solimp",
    "mesh_vertadr", "mesh_vertnum", "mesh_vert", "hfield_size", "hfield_nrow", "hfield_ncol", "hfield_adr",
    "hfield_data", "site_bodyid", "site_pos", "site_quat", "pair_geom1", "pair_geom2", "pair_friction", "pair_dim",
    "pair_margin", "pair_gap", "exclude_signature",
    "eq_type", "eq_obj1id", "eq_obj2id", "eq_objtype", "eq_active0", "eq_data",
    "tendon_adr", "tendon_num", "tendon_limited", "tendon_range", "tendon_stiffness", "tendon_damping",
    "tendon_frictionloss", "tendon_armature", "tendon_lengthspring", "tendon_length0",
    "tendon_margin", "tendon_actfrclimited", "tendon_actfrcrange", "tendon_springyield", "tendon_stiffnesspoly",
    "tendon_dampingpoly", "jnt_stiffnesspoly", "dof_dampingpoly",
    "wrap_type", "wrap_objid", "wrap_prm",
    "actuator_trntype", "actuator_dyntype", "actuator_gaintype", "actuator_biastype", "actuator_trnid",
    "actuator_gainprm", "actuator_biasprm", "actuator_ctrllimited", "actuator_ctrlrange", "actuator_forcelimited",
    "actuator_forcerange", "actuator_gear", "actuator_armature", "actuator_damping",
    "key_qpos", "key_qvel", "key_ctrl", "key_time",
)  # fmt: skip
KINDS = {"body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "equality": "neq", "tendon": "ntendon",
         "actuator": "nu", "key": "nkey", "mesh": "nmesh", "hfield": "nhfield", "sensor": "nsensor"}  # fmt: skip


def answer(request: dict[str, Any], files: dict[str, bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays; names and options."""
    import numpy as np

    try:
        import mujoco
    except ImportError:
        raise ImportError("MJCF and URDF need mujoco: pip install 'delassus[import]'") from None

    main = files.pop(request["main"]).decode()
    include = {name: content for name, content in files.items() if name.endswith(".xml")}
    assets = {name: content for name, content in files.items() if name not in include}
    spec = mujoco.MjSpec.from_string(main, include=include, assets=assets)
    if request["floating"]:
        for body in spec.worldbody.bodies:
            if not body.joints:
                body.add_freejoint()
    model = spec.compile()
    arrays: dict[str, Any] = {name: np.asarray(getattr(model, name)) for name in WANTED if hasattr(model, name)}
    names = {
        kind: [getattr(model, kind)(k).name for k in range(getattr(model, count))] for kind, count in KINDS.items()
    }
    option = model.opt
    flags = mujoco.mjtDisableBit
    bits = {name: int(getattr(flags, name)) for name in dir(flags) if name.startswith("mjDSBL_")}
    table = {
        "names": names, "gravity": option.gravity.tolist(), "timestep": option.timestep,
        "density": option.density, "viscosity": option.viscosity, "wind": option.wind.tolist(),
        "disabled": [name for name, bit in bits.items() if option.disableflags & bit],
        "flexes": int(getattr(model, "nflex", 0)),
        "plugins": int(model.nplugin), "version": mujoco.__version__, "mass": float(model.body_mass.sum()),
    }  # fmt: skip
    return arrays, table
