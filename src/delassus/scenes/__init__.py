"""Scenes: a mechanism, how long to watch it, and what physics says must come out. A scene is one file and one line
here; the contract tests, `delassus scenes` and `delassus run` go over the table.

>>> from delassus.scenes import SCENES
>>> setup = SCENES["bouncing-ball"].build(height=0.5)
>>> run = setup.run(duration=0.02)
>>> run.step_count
20
"""

from delassus.scenes import (
    arch,
    balls_in_the_box,
    blade,
    bouncing_ball,
    box_on_plane,
    boxes_fixed,
    card_house,
    four_bar,
    heavy_cylinder,
    heavy_on_light,
    nunchuk,
    pendulum_chain,
    polydisperse_pile,
    rolling_sphere,
    silo,
    single_body,
    sliding_block,
    sphere_pile,
    stacked_spheres,
    wall,
)
from delassus.scenes.file_scene import file_scene as file_scene
from delassus.scenes.file_scene import is_file as is_file
from delassus.scenes.flexible import (
    ball_into_block,
    cantilever,
    fem_slider,
    soft_box_drop,
    soft_gripper,
    strip_through_rollers,
    three_point_bending,
)
from delassus.scenes.machines import arm7d, bdx, gazelle, ironman, lima, misha, quadruped, walker
from delassus.scenes.scene import MOST_STEPS as MOST_STEPS
from delassus.scenes.scene import Check as Check
from delassus.scenes.scene import Scene as Scene
from delassus.scenes.scene import Setup as Setup
from delassus.scenes.scene import check_line
from delassus.scenes.stepping import simulate as simulate
from delassus.tables import Table

SCENES: Table[Scene] = Table(
    "scene",
    lambda scene: isinstance(scene, Scene),
    lambda scene: scene.name,
    (
        box_on_plane.SCENE,
        sliding_block.SCENE,
        bouncing_ball.SCENE,
        rolling_sphere.SCENE,
        boxes_fixed.SCENE,
        nunchuk.SCENE,
        four_bar.FIXED,
        four_bar.FREE,
        pendulum_chain.SCENE,
        sphere_pile.SCENE,
        silo.SCENE,
        heavy_cylinder.SCENE,
        balls_in_the_box.SCENE,
        single_body.BALL,
        single_body.BRICK,
        stacked_spheres.SCENE,
        heavy_on_light.SCENE,
        polydisperse_pile.SCENE,
        blade.SCENE,
        wall.SCENE,
        card_house.SCENE,
        arch.SCENE,
        cantilever.SCENE,
        fem_slider.SCENE,
        soft_box_drop.SCENE,
        ball_into_block.SCENE,
        soft_gripper.SCENE,
        strip_through_rollers.SCENE,
        three_point_bending.SCENE,
        arm7d.SCENE,
        quadruped.SCENE,
        bdx.SCENE,
        lima.SCENE,
        misha.SCENE,
        walker.SCENE,
        gazelle.SCENE,
        ironman.SCENE,
    ),
    check=check_line,
)
"""Every scene by name, plug-ins included."""


def find(name: str) -> Scene:
    """The scene of that name, or the model in the file of that name."""
    return file_scene(name) if is_file(name) and name not in SCENES else SCENES.find(name)
