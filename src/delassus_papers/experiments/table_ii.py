"""Tsounis et al. 2025, Table II and figure 8: the thirteen systems of the suite, their dimensions and what is said of
them.

Ours are stand-ins, built to the table and to these sentences. Where one does what it was built to, that is no agreement
but *not tested*; where it does not, it differs. Open is how the table counts joints and degrees of freedom."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from delassus.builder import ModelBuilder
from delassus.errors import ProblemError
from delassus.scenes import Setup, find
from delassus.shapes import Mesh
from delassus_papers.claim import Claim, Fact, Found, NotTested
from delassus_papers.criterion import AGREES, Between, Same
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.systems import (
    Dimensions,
    are_primitives_or_hulls,
    dimensions,
    has_limits,
    has_shells,
    lived,
    sheet,
)
from delassus_papers.outcome import Picture

COLUMNS = ("bodies", "joints", "total", "passive", "actuated", "constraints", "mass ratio")
OPEN = ("joints", "total", "passive")
"""Columns that systems were not built to: counted, with the mount or without, or following from the others."""
# name: the columns, as printed
TABLE: dict[str, tuple[float, ...]] = {
    "box-on-plane": (1, 0, 6, 0, 0, 0, 1.0),
    "boxes-fixed": (2, 1, 6, 0, 0, 6, 1000.0),
    "nunchuk": (3, 2, 12, 6, 0, 6, 1.0),
    "four-bar": (4, 5, 1, 0, 1, 26, 1.0),
    "four-bar-free": (4, 4, 7, 5, 1, 20, 1.0),
    "arm7d": (8, 7, 7, 0, 7, 41, 19.54),
    "quadruped": (13, 12, 18, 6, 12, 60, 29.07),
    "bdx": (15, 14, 14, 6, 14, 70, 42.49),
    "lima": (21, 20, 26, 6, 20, 100, 321.39),
    "misha": (22, 24, 23, 0, 23, 121, 90.67),
    "walker": (31, 36, 42, 18, 24, 180, 99.55),
    "gazelle": (38, 45, 60, 38, 22, 214, 1012.54),
    "ironman": (54, 67, 100, 80, 20, 304, 25544.44),
}
ROBOTS = ("arm7d", "quadruped", "bdx", "lima")
FIGURES = ("misha", "walker", "gazelle", "ironman")
WITH_MOTOR = {"four-bar-free": {"swing": 0.4}}
"""Parameters of scenes where the table's has something that ours has not by default."""

_HOW = {
    "bodies": "moving bodies",
    "joints": "joints, those to the world included",
    "total": "six per joint less its constraints, and six of a free base",
    "passive": "the total less the driven ones",
    "actuated": "driven joint coordinates",
    "constraints": "rows of all joints",
    "mass ratio": "largest over smallest mass, to two decimals",
}


def _system(name: str) -> Claim:
    """What is open, in one: is there a way of counting that gives these columns of all systems?"""
    says = f"{name}: " + ", ".join(f"{value:.10g}" for value in TABLE[name])
    return Claim(
        name,
        "Table II",
        says,
        "entries, of joints, total and passive degrees of freedom, that one way of "
        "counting for all systems gives; less those of the other four that the stand-in misses",
        Same(len(OPEN), tuple(range(len(OPEN)))),
        changed="2026-11-16: before, of all seven, to four of which the systems were built",
    )


CLAIMS = (
    *map(_system, TABLE),
    Claim("systems", "§VII-A", "the suite consists of twelve systems", "systems", Same(12, (11, 13))),
    Claim(
        "robots: loops",
        "§VII-A",
        "the robots are articulated systems without kinematic loops",
        "most loops of the four",
        Same(0, (1, 2)),
    ),
    Claim(
        "robots: shapes",
        "§VII-A",
        "their collisions involve only geometric primitives or small convex meshes",
        "robots of which that is true",
        Same(4, (0, 3)),
    ),
    Claim(
        "robots: limits",
        "Figure 8",
        "joint limits and contacts are present",
        "robots with limits on all driven joints that come into contact in their runs",
        Same(4, (0, 3)),
    ),
    Claim(
        "figures: loops",
        "§VII-A",
        "the animatronic figures have multiple kinematic loops each",
        "fewest loops of the four",
        Between(2, float("inf"), 2, in_words=True),
    ),
    Claim(
        "figures: base",
        "§VII-A",
        "most are held by a fixed joint to the world, one is free-floating",
        "free ones of the four",
        Same(1, (0, 4)),
    ),
    Claim(
        "figures: meshes",
        "§VII-A",
        "their collisions are evaluated solely on the raw meshes",
        "figures whose moving bodies are meshes",
        Same(4, (0,)),
    ),
    Claim(
        "figures: shells",
        "§VII-A",
        "internal mechanisms are enclosed by shells and may collide with them",
        "figures with push rods that may hit plates",
        Same(4, (0, 3)),
    ),
)


def columns(of: Dimensions) -> dict[str, float]:
    """The table's columns, each counted in one way for all systems."""
    total, ratio = of.of_joints, round(of.ratio, 2)
    return dict(zip(COLUMNS, (of.bodies, of.joints, total, total - of.actuated, of.actuated, of.constraints, ratio)))


def otherwise(of: Dimensions, column: str) -> dict[str, int]:
    """The same column counted in other ways."""
    base = 6 * of.is_free
    if column == "joints":
        return {"without the mount": of.joints - of.mounts}
    if column not in ("total", "passive"):
        return {}
    driven = of.actuated if column == "passive" else 0
    return {
        "by six per body less the rank of the constraints": of.of_mechanism - driven,
        "without the base": of.of_joints - driven - base,
        "by the rank, without the base": of.of_mechanism - driven - base,
    }


def entry(of: Dimensions, column: str, printed: float) -> Found:
    """What is found for an entry; where it differs, the other way of counting that gives what is printed, or none."""
    value = columns(of)[column]
    if value == printed:
        return Found(value)
    ways = [way for way, count in otherwise(of, column).items() if count == printed]
    if ways:
        return Found(value, why="the table counts otherwise here", evidence=f"counted {ways[0]} it is {printed:g}")
    tried = ", ".join(f"{count} {way}" for way, count in otherwise(of, column).items())
    return Found(value, why=f"a misprint, since no way of counting tried gives {printed:g} ({tried})" if tried else "")


def row(of: Dimensions, printed: tuple[float, ...]) -> Found:
    """How many of the open entries of a system are equal, and what is behind the others. Each other entry that is not
    equal counts against these."""
    entries = {column: entry(of, column, value) for column, value in zip(COLUMNS, printed)}
    odd = {column: entries[column] for column, value in zip(COLUMNS, printed) if entries[column].published != value}
    equal = len(OPEN) - len(odd)
    if odd and all(found.evidence for found in odd.values()):
        measured = ", ".join(f"{column}: {found.evidence}" for column, found in odd.items())
        return Found(equal, why="the table counts otherwise here", evidence=measured)
    return Found(equal, why="; ".join(f"{column}: {found.evidence or found.why}" for column, found in odd.items()))


def built(key: str, value: float) -> Found | NotTested:
    """A sentence that the stand-ins were built to: they can only miss it."""
    criterion = next(claim.criterion for claim in CLAIMS if claim.key == key)
    if criterion.judge(value) == AGREES:
        return NotTested(f"our stand-ins were built to it: {criterion.shown(value)}")
    return Found(value, why="the stand-ins miss what they were built to")


def of_the_text(
    setups: Mapping[str, Setup], of: Mapping[str, Dimensions], touching: int
) -> dict[str, Found | NotTested]:
    """Claims of section and caption. touching: robots that came into contact in their runs."""
    robots, figures = ([setups[name].model for name in names] for names in (ROBOTS, FIGURES))
    once = len({name.removesuffix("-free") for name in setups})
    limited = sum(has_limits(model) for model in robots)
    return {
        "systems": Found(
            len(setups), why="the table has the four-bar twice, fixed and free", evidence=f"counted once, {once}"
        ),
        **{
            key: built(key, value)
            for key, value in (
                ("robots: loops", max(of[name].loops for name in ROBOTS)),
                ("robots: shapes", sum(are_primitives_or_hulls(model) for model in robots)),
                ("robots: limits", min(limited, touching)),
                ("figures: loops", min(of[name].loops for name in FIGURES)),
                ("figures: base", sum(of[name].is_free for name in FIGURES)),
                ("figures: shells", sum(has_shells(model) for model in figures)),
            )
        },
        "figures: meshes": Found(
            sum(not are_primitives_or_hulls(model) for model in figures),
            why="moving bodies are solids here: hulls, boxes and capsules stand in",
            evidence=f"a mesh on a moving body is refused, “{_refusal()}”",
        ),
    }


def _refusal() -> str:
    triangle = Mesh(np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]), np.array([(0, 1, 2)]))
    try:
        ModelBuilder().body("part", mass=1.0, shapes=[triangle])
    except ProblemError as error:
        return str(error)
    return "accepted"


def facts(of: Mapping[str, Dimensions]) -> list[Fact]:
    """What the table says of itself, and how far each way of counting carries."""
    totals = {name: each[2] for name, each in TABLE.items()}
    sums = [name for name, each in TABLE.items() if each[3] + each[4] != each[2]]
    by_joints = sum(of[name].of_joints == total for name, total in totals.items())
    by_rank = sum(of[name].of_mechanism == total for name, total in totals.items())
    return [
        Fact("rows whose passive and actuated degrees of freedom do not add up to their total", ", ".join(sums)),
        Fact("totals that six per joint less its constraints gives", ours=f"{by_joints} of {len(totals)}"),
        Fact("totals that six per body less the rank of the constraints gives", ours=f"{by_rank} of {len(totals)}"),
        Fact(
            "redundant constraints",
            ours=", ".join(
                f"{name} {of[name].constraints - of[name].rank}" for name in of if of[name].constraints > of[name].rank
            ),
        ),
    ]


def measure(folder: Path, quick: bool) -> Findings:
    """Counts, and a run of each system: what is cheap is run for 1.2 s, figures with loops for less when quick."""
    setups = {name: find(name).build(**WITH_MOTOR.get(name, {})) for name in TABLE}
    of = {name: dimensions(setup) for name, setup in setups.items()}
    found: dict[str, Found | NotTested] = {name: row(of[name], printed) for name, printed in TABLE.items()}
    runs = {
        name: (setup, setup.run(duration=0.3 if quick and name in FIGURES else 1.2 if quick else 2.2))
        for name, setup in setups.items()
    }
    lives = {name: lived(*run) for name, run in runs.items()}
    found |= of_the_text(setups, of, sum(lives[name].contacts > 0 for name in ROBOTS))
    shown = [
        Fact(f"{name}: {column} ({_HOW[column]})", f"{value:.10g}", "–", f"{columns(of[name])[column]:.10g}")
        for name, printed in TABLE.items()
        for column, value in zip(COLUMNS, printed)
    ]
    shown += [Fact(f"{name}, {life.seconds:g} s of its motion", ours=str(life)) for name, life in lives.items()]
    picture = "table-ii-machines.png"
    toys = tuple(name for name in TABLE if name not in ROBOTS + FIGURES)
    drawn = sheet(folder / picture, [{name: runs[name] for name in names} for names in (toys, ROBOTS, FIGURES)])
    caption = "Toy problems, robots and animatronic figures, as they are at the end of their runs"
    pictures = [Picture(picture, "Figure 8", caption, "picture not available")] if drawn else []
    return Findings(found, [*facts(of), *shown], pictures)


EXPERIMENT = Experiment("table-ii", ("tsounis",), "The thirteen systems", ("Table II", "Figure 8"), CLAIMS, measure)
