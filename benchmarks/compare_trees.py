"""Do two trees of the package compute the same numbers? For changes that only move code.

    python benchmarks/compare_trees.py OLD/src NEW/src --out compared --files path/to/fclib

Solves random problems and FCLIB files with every solver of the table, runs scenes, and runs `delassus bench quick` in
each tree, in processes of their own, through nothing but the public interface. Then compares, per item: the status, the
iterations, the judged residual and a digest of the bits of reactions, states and rows. Items are `equal` to the last
bit, or `better` or `worse` by status, then iterations where the residual did not grow beyond the tolerance, or `other`
(same status and iterations, other bits). Exit code: 0 nothing is worse, 1 something is.

Facts of a tree are kept in OUT/old.json and OUT/new.json; with --keep-old the first tree is not run again.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TOL, MAX_ITER = 1e-6, 2000  # no time limit: where batches end near one depends on the clock
MOST_ROWS = 700  # of FCLIB files: larger ones take minutes with the slow methods
SCENES = {
    "box-on-plane": 60,
    "sliding-block": 60,
    "bouncing-ball": 200,
    "boxes-fixed": 100,
    "nunchuk": 200,
    "four-bar": 100,
    "four-bar-free": 150,
    "pendulum-chain": 60,
    "sphere-pile": 30,
    "wall": 10,
    "card-house": 20,
    "arch": 20,
    "stacked-spheres": 60,
    "heavy-on-light": 60,
    "quadruped": 40,
    "bdx": 20,
}


def digest(*arrays) -> str:
    out = hashlib.sha256()
    for array in arrays:
        out.update(array.tobytes())
    return out.hexdigest()[:16]


def random_solves(facts: dict) -> None:
    """Every solver that takes it on every random problem, and on its reactions as a guess."""
    import numpy as np

    import delassus
    from delassus.law import Law
    from delassus.problem.random import random_dual, random_rigid
    from delassus.solvers import SOLVERS

    shapes = [
        dict(bodies=5, contacts=8),
        dict(bodies=6, contacts=5, joints=4, limits=2),
        dict(bodies=8, contacts=6, joints=5, redundant_joints=True),
        dict(bodies=5, contacts=8, compliance=1e-3),
        dict(bodies=5, contacts=6, mass_ratio=1e3),
        dict(bodies=80, contacts=90),
        dict(bodies=60, contacts=40, joints=30),
        dict(bodies=5, contacts=0, joints=4),
        dict(bodies=3, contacts=4, mass_ratio=1e7),
    ]
    names = [*SOLVERS, "nbgs+anderson", "admm-ccp+anderson", "apgd+desaxce", "ipm+desaxce", "auto"]
    for law in Law:
        for at, shape in enumerate(shapes):
            for seed in range(2):
                problem = random_rigid(np.random.default_rng(100 * at + seed), law=law, **shape)
                for name in names:
                    solved(facts, f"random/{law.value}/{at}.{seed}/{name}", problem, name, delassus)
        problem = random_dual(np.random.default_rng(7), law=law)
        for name in names:
            solved(facts, f"random/{law.value}/dual/{name}", problem, name, delassus)


def solved(facts: dict, key: str, problem, name: str, delassus) -> None:
    try:
        found = delassus.solve(problem, name, tol=TOL, max_iter=MAX_ITER)
    except delassus.DelassusError as error:
        facts[key] = {"status": type(error).__name__}
        return
    facts[key] = {
        "status": found.status.value,
        "iterations": found.iterations,
        "residual": found.residuals.natural_map_relative,
        "digest": digest(found.reactions),
    }


def fclib_solves(facts: dict, folder: Path) -> None:
    import delassus
    from delassus.io import load_problem

    for path in sorted(folder.glob("*.hdf5")):
        try:
            problem = load_problem(path)
        except delassus.DelassusError as error:
            facts[f"fclib/{path.name}"] = {"status": str(type(error).__name__)}
            continue
        if problem.row_count > MOST_ROWS:
            continue
        for name in ["auto", "nbgs", "prox-ssn", "nbgs-direct", "admm-ncp-sa", "ipm+desaxce"]:
            solved(facts, f"fclib/{path.stem}/{name}", problem, name, delassus)


def dataset_digests(parts: list[Path]) -> dict[str, str]:
    """Of every dataset of a recording, over all its parts: where one part ends and the next begins depends on the
    clock, as do the times of stages, which are left out."""
    import h5py

    kept: dict[str, list] = {}

    def look(name, item) -> None:
        if (
            isinstance(item, h5py.Dataset)
            and item.dtype.kind in "fiub"
            and name.split("/")[0] not in ("start", "times")
        ):
            kept.setdefault(name, []).append(item[()])

    for path in parts:
        with h5py.File(path) as file:
            file.visititems(look)
    return {name: digest(*arrays) for name, arrays in kept.items()}


def recordings(facts: dict, scratch: Path) -> None:
    """Every dataset that a short run of a scene records."""
    for scene, steps in SCENES.items():
        out = scratch / scene
        command = [sys.executable, "-m", "delassus", "run", scene, "--steps", str(steps), "--out", str(out)]
        code = subprocess.run(command, capture_output=True, text=True).returncode
        numbers = dataset_digests(sorted(out.rglob("*.h*5")))
        whole = hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()[:16]
        facts[f"run/{scene}"] = {"status": f"exit {code}", "digest": whole, "parts": numbers}


def bench_quick(facts: dict, scratch: Path) -> None:
    out = scratch / "bench"
    subprocess.run([sys.executable, "-m", "delassus", "bench", "quick", "--out", str(out)], capture_output=True)
    for path in out.rglob("rows.jsonl"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            if "iterations" not in row:
                continue
            key = f"bench/{row['sample']}/{row['solver']}/{row['start']}/{row['tol']}"
            facts[key] = {
                "status": row["status"],
                "iterations": row["iterations"],
                "residual": row["relative"],
                "digest": f"{row['relative']!r} {row['natural_map']!r}",
            }


def gather(source: Path, kinds: list[str], files: Path | None, target: Path) -> None:
    """Run a worker in one tree: facts by kind and item, as JSON."""
    environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
    command = [sys.executable, __file__, "--worker", ",".join(kinds), "--out", str(target)]
    if files is not None:
        command += ["--files", str(files)]
    subprocess.run(command, check=True, env=environment)


def work(kinds: list[str], files: Path | None, target: Path) -> None:
    facts: dict = {}
    with tempfile.TemporaryDirectory() as scratch:
        for kind in kinds:
            if kind == "random":
                random_solves(facts)
            elif kind == "fclib" and files is not None:
                fclib_solves(facts, files)
            elif kind == "run":
                recordings(facts, Path(scratch))
            elif kind == "bench":
                bench_quick(facts, Path(scratch))
    target.write_text(json.dumps(facts, indent=1))


def verdict(old: dict | None, new: dict | None) -> str:
    if old is None or new is None:
        return "missing"
    if {k: v for k, v in old.items() if k != "parts"} == {k: v for k, v in new.items() if k != "parts"}:
        return "equal"
    if old["status"] != new["status"]:
        good = ("converged", "exit 0", "infeasible")
        return "better" if new["status"] in good else "worse" if old["status"] in good else "other"
    if old.get("iterations", 0) != new.get("iterations", 0):
        return "better" if new["iterations"] < old["iterations"] else "worse"
    return "other"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, help="OLD/src NEW/src")
    parser.add_argument("--out", type=Path, default=Path("compared"))
    parser.add_argument("--files", type=Path, help="folder of FCLIB files")
    parser.add_argument("--kinds", default="random,fclib,run,bench")
    parser.add_argument("--keep-old", action="store_true", help="take OUT/old.json as it is")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.worker.split(","), given.files, given.out)
        return 0
    if len(given.trees) != 2:
        parser.error("give two trees: OLD/src NEW/src")
    given.out.mkdir(parents=True, exist_ok=True)
    kinds = given.kinds.split(",")
    for tree, name in zip(given.trees, ["old", "new"]):
        if not (name == "old" and given.keep_old):
            gather(tree, kinds, given.files, given.out / f"{name}.json")
    old, new = (json.loads((given.out / f"{name}.json").read_text()) for name in ["old", "new"])
    found = {key: verdict(old.get(key), new.get(key)) for key in sorted({*old, *new}) if key.split("/")[0] in kinds}
    for key, word in found.items():
        if word != "equal":
            shown = [{k: v for k, v in (facts.get(key) or {}).items() if k != "parts"} for facts in (old, new)]
            print(f"{word:8s}{key}\n        {shown[0]}\n        {shown[1]}")
            parts = [(facts.get(key) or {}).get("parts", {}) for facts in (old, new)]
            changed = sorted(k for k in {*parts[0], *parts[1]} if parts[0].get(k) != parts[1].get(k))
            if changed:
                print(f"        datasets: {' '.join(changed)}")
    count = Counter((key.split("/")[0], word) for key, word in found.items())
    print("\n".join(f"{kind:8s}{word:8s}{number}" for (kind, word), number in sorted(count.items())))
    return int(any(word in ("worse", "missing") for word in found.values()))


if __name__ == "__main__":
    sys.exit(main())
