"""USD's own reader: files in, bodies, shapes and joints of UsdPhysics out, in SI units, as one table. See run.py.

Layers are opened from an empty folder into which the files are put; what they refer to must be among them.
"""

import math
import os
from typing import Any

AXES = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
MOST_POINTS = 200_000  # of one mesh


def answer(request: dict[str, Any], files: dict[str, bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """No arrays; everything. The files are in the folder already."""
    try:
        from pxr import Usd
    except ImportError:
        raise ImportError("USD files need usd-core: pip install 'delassus[import]'") from None
    check_layers(request["main"])
    return {}, Reader(Usd.Stage.Open("./" + request["main"])).table()


def check_layers(main: str) -> None:
    """Refuse what refers to files outside the folder, before anything is composed."""
    from pxr import Sdf

    left, seen = [main], set()
    while left:
        name = os.path.normpath(left.pop())
        if name in seen:
            continue
        seen.add(name)
        if name.startswith((os.sep, "..")) or ":" in name:
            raise ValueError(f"refers to {name!r} outside the model's folder")
        layer = Sdf.Layer.FindOrOpen("./" + name)
        if layer is None:
            raise ValueError(f"{name!r} is no USD layer" if name == main else f"refers to {name!r}, which is not there")
        left += [p if os.path.isabs(p) else os.path.join(os.path.dirname(name), p)
                 for p in layer.GetCompositionAssetDependencies() if p]  # fmt: skip


class Reader:
    """What a stage says about mechanics."""

    def __init__(self, stage: Any):
        from pxr import Usd, UsdGeom, UsdPhysics

        self.stage, self.physics, self.geom = stage, UsdPhysics, UsdGeom
        self.length = float(UsdGeom.GetStageMetersPerUnit(stage))
        self.mass = float(UsdPhysics.GetStageKilogramsPerUnit(stage)) if hasattr(
            UsdPhysics, "GetStageKilogramsPerUnit") else 1.0  # fmt: skip
        self.cache = UsdGeom.XformCache()
        self.prims = [p for p in Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies())]

    def table(self) -> dict[str, Any]:
        """Everything."""
        return {
            "gravity": self.gravity(),
            "bodies": [self.body(p) for p in self.prims if self.is_body(p)],
            "shapes": [self.shape(p) for p in self.prims if self.is_shape(p)],
            "joints": [self.joint(p) for p in self.prims if p.IsA(self.physics.Joint)],
            "filtered": self.filtered(), "groups": self.groups(),
            "articulations": sum(p.HasAPI(self.physics.ArticulationRootAPI) for p in self.prims),
        }  # fmt: skip

    def gravity(self) -> list[float]:
        from pxr import UsdGeom

        up = [0.0, 1.0, 0.0] if UsdGeom.GetStageUpAxis(self.stage) == UsdGeom.Tokens.y else [0.0, 0.0, 1.0]
        for prim in self.prims:
            if prim.IsA(self.physics.Scene):
                scene = self.physics.Scene(prim)
                way = [float(x) for x in scene.GetGravityDirectionAttr().Get() or (0, 0, 0)]
                size = float(scene.GetGravityMagnitudeAttr().Get())
                way = way if any(way) else [-x for x in up]
                norm = math.sqrt(sum(x * x for x in way))
                size = 9.81 if not math.isfinite(size) or size < 0.0 else size * self.length
                return [size * x / norm for x in way]
        return [-9.81 * x for x in up]

    def is_body(self, prim: Any) -> bool:
        if not prim.HasAPI(self.physics.RigidBodyAPI):
            return False
        return bool(self.physics.RigidBodyAPI(prim).GetRigidBodyEnabledAttr().Get())

    def is_shape(self, prim: Any) -> bool:
        if not prim.HasAPI(self.physics.CollisionAPI):
            return False
        return bool(self.physics.CollisionAPI(prim).GetCollisionEnabledAttr().Get())

    def owner(self, prim: Any) -> str:
        """Path of the body that a prim is part of, empty for none."""
        while prim and not prim.IsPseudoRoot():
            if self.is_body(prim):
                return str(prim.GetPath())
            prim = prim.GetParent()
        return ""

    def pose(self, prim: Any) -> tuple[list[float], list[float], list[float]]:
        """Position [m], quaternion (w, x, y, z) and scale in the world."""
        matrix = self.cache.GetLocalToWorldTransform(prim)
        scale = [matrix.GetRow3(i).GetLength() for i in range(3)]
        turn = matrix.RemoveScaleShear().ExtractRotationQuat()
        at = matrix.ExtractTranslation()
        return [self.length * x for x in at], [turn.GetReal(), *turn.GetImaginary()], scale

    def body(self, prim: Any) -> dict[str, Any]:
        rigid, mass = self.physics.RigidBodyAPI(prim), self.physics.MassAPI(prim)
        position, quaternion, scale = self.pose(prim)
        out: dict[str, Any] = {
            "path": str(prim.GetPath()), "position": position, "quaternion": quaternion,
            "velocity": [self.length * x for x in rigid.GetVelocityAttr().Get() or (0, 0, 0)],
            "spin": [math.radians(x) for x in rigid.GetAngularVelocityAttr().Get() or (0, 0, 0)],
            "kinematic": bool(rigid.GetKinematicEnabledAttr().Get()), "mass": 0.0, "density": 0.0,
            "inertia": [0.0] * 3, "centre": None, "axes": [1.0, 0, 0, 0],
        }  # fmt: skip
        legacy = prim.GetAttribute("physics:linearVelocity")  # an older name of physics:velocity
        if legacy and legacy.Get() is not None and not any(out["velocity"]):
            out["velocity"] = [self.length * x for x in legacy.Get()]
        if prim.HasAPI(self.physics.MassAPI):
            out["mass"] = self.mass * float(mass.GetMassAttr().Get())
            out["density"] = self.mass / self.length**3 * float(mass.GetDensityAttr().Get())
            out["inertia"] = [self.mass * self.length**2 * float(x) for x in mass.GetDiagonalInertiaAttr().Get()]
            centre = [float(x) for x in mass.GetCenterOfMassAttr().Get()]
            if all(math.isfinite(x) for x in centre):
                out["centre"] = [self.length * s * x for s, x in zip(scale, centre)]
            axes = mass.GetPrincipalAxesAttr().Get()
            if axes.GetReal() or any(axes.GetImaginary()):
                out["axes"] = [axes.GetReal(), *axes.GetImaginary()]
        return out

    def shape(self, prim: Any) -> dict[str, Any]:
        position, quaternion, scale = self.pose(prim)
        kind = str(prim.GetTypeName())
        out: dict[str, Any] = {"path": str(prim.GetPath()), "body": self.owner(prim), "kind": kind,
                               "position": position, "quaternion": quaternion, "scale": scale,
                               "density": 0.0, "friction": None, "restitution": 0.0}  # fmt: skip
        for key in ("size", "radius", "height", "axis", "width", "length"):
            attribute = prim.GetAttribute(key)
            if attribute and attribute.Get() is not None:
                value = attribute.Get()
                out[key] = str(value) if key == "axis" else self.length * float(value)
        if prim.IsA(self.geom.Mesh):
            mesh = self.geom.Mesh(prim)
            points = mesh.GetPointsAttr().Get() or []
            if len(points) > MOST_POINTS:
                raise ValueError(f"{prim.GetPath()} has {len(points)} points, at most {MOST_POINTS} are read")
            out["points"] = [[self.length * float(x) for x in p] for p in points]
            out["counts"] = [int(x) for x in mesh.GetFaceVertexCountsAttr().Get() or []]
            out["corners"] = [int(x) for x in mesh.GetFaceVertexIndicesAttr().Get() or []]
            if prim.HasAPI(self.physics.MeshCollisionAPI):
                out["approximation"] = str(self.physics.MeshCollisionAPI(prim).GetApproximationAttr().Get())
        if prim.HasAPI(self.physics.MassAPI):
            mass = self.physics.MassAPI(prim)
            out["density"] = self.mass / self.length**3 * float(mass.GetDensityAttr().Get())
            out["mass"] = self.mass * float(mass.GetMassAttr().Get())
        self._material(prim, out)
        return out

    def _material(self, prim: Any, out: dict[str, Any]) -> None:
        from pxr import UsdShade

        for purpose in ("physics", UsdShade.Tokens.allPurpose):
            found = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial(purpose)
            material = found[0] if isinstance(found, tuple) else found
            if material and material.GetPrim().HasAPI(self.physics.MaterialAPI):
                api = self.physics.MaterialAPI(material.GetPrim())
                out["friction"] = float(api.GetDynamicFrictionAttr().Get())
                out["static_friction"] = float(api.GetStaticFrictionAttr().Get())
                out["restitution"] = float(api.GetRestitutionAttr().Get())
                out["density"] = out["density"] or self.mass / self.length**3 * float(api.GetDensityAttr().Get())
                return

    def joint(self, prim: Any) -> dict[str, Any]:
        joint = self.physics.Joint(prim)
        out: dict[str, Any] = {"path": str(prim.GetPath()), "kind": str(prim.GetTypeName()),
                               "enabled": bool(joint.GetJointEnabledAttr().Get()),
                               "collide": bool(joint.GetCollisionEnabledAttr().Get()), "ends": []}  # fmt: skip
        for rel, pos, rot in (
            (joint.GetBody0Rel(), joint.GetLocalPos0Attr(), joint.GetLocalRot0Attr()),
            (joint.GetBody1Rel(), joint.GetLocalPos1Attr(), joint.GetLocalRot1Attr()),
        ):
            targets = rel.GetTargets()
            at, turn = pos.Get() or (0, 0, 0), rot.Get()
            quaternion = [1.0, 0, 0, 0] if turn is None else [turn.GetReal(), *turn.GetImaginary()]
            out["ends"].append(self._end(targets, [float(x) for x in at], quaternion))
        for key, name in (("axis", "physics:axis"), ("lower", "physics:lowerLimit"), ("upper", "physics:upperLimit"),
                          ("cone0", "physics:coneAngle0Limit"), ("cone1", "physics:coneAngle1Limit"),
                          ("least", "physics:minDistance"), ("most", "physics:maxDistance")):  # fmt: skip
            attribute = prim.GetAttribute(name)
            value = attribute.Get() if attribute else None
            if isinstance(value, (int, float, str)):
                out[key] = value if isinstance(value, str) else float(value)
        out["limits"] = {}
        out["drives"] = {}
        for axis in (*AXES, "angular", "linear", "distance"):
            if prim.HasAPI(self.physics.LimitAPI, axis):
                limit = self.physics.LimitAPI(prim, axis)
                out["limits"][axis] = [float(limit.GetLowAttr().Get()), float(limit.GetHighAttr().Get())]
            if prim.HasAPI(self.physics.DriveAPI, axis):
                drive = self.physics.DriveAPI(prim, axis)
                out["drives"][axis] = {
                    "stiffness": float(drive.GetStiffnessAttr().Get()), "damping": float(drive.GetDampingAttr().Get()),
                    "target": float(drive.GetTargetPositionAttr().Get() or 0.0),
                    "rate": float(drive.GetTargetVelocityAttr().Get() or 0.0),
                    "most": float(drive.GetMaxForceAttr().Get()), "type": str(drive.GetTypeAttr().Get()),
                }  # fmt: skip
        out["length"], out["mass"] = self.length, self.mass
        return out

    def _end(self, targets: Any, at: list[float], quaternion: list[float]) -> dict[str, Any]:
        """Where a joint is on one of its bodies, in the world."""
        from pxr import Gf

        turn = Gf.Quatd(quaternion[0], *quaternion[1:])
        if not targets:
            position = [self.length * x for x in at]
            return {"body": "", "position": position, "quaternion": quaternion}
        prim = self.stage.GetPrimAtPath(targets[0])
        if not prim:
            raise ValueError(f"a joint names {targets[0]}, which is not there")
        matrix = self.cache.GetLocalToWorldTransform(prim)
        point = matrix.Transform(Gf.Vec3d(*at))
        world = matrix.RemoveScaleShear().ExtractRotationQuat() * turn
        return {"body": self.owner(prim), "position": [self.length * x for x in point],
                "quaternion": [world.GetReal(), *world.GetImaginary()]}  # fmt: skip

    def filtered(self) -> list[list[str]]:
        """Pairs of paths that never touch."""
        out = []
        for prim in self.prims:
            if prim.HasAPI(self.physics.FilteredPairsAPI):
                for other in self.physics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets():
                    out.append([str(prim.GetPath()), str(other)])
        return out

    def groups(self) -> list[dict[str, Any]]:
        """Collision groups: which shapes they hold, which groups they do not touch."""
        out = []
        for prim in self.prims:
            if prim.IsA(self.physics.CollisionGroup):
                group = self.physics.CollisionGroup(prim)
                held = group.GetCollidersCollectionAPI().ComputeMembershipQuery()
                shapes = [p.GetPath() for p in self.prims if self.is_shape(p)]
                out.append({
                    "path": str(prim.GetPath()), "shapes": [str(p) for p in shapes if held.IsPathIncluded(p)],
                    "not": [str(p) for p in group.GetFilteredGroupsRel().GetTargets()],
                })  # fmt: skip
        return out
