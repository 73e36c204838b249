"""Files of every format, changed at random: each is read or refused in one sentence, whatever is in it, within 2 GiB
and 20 s, and nothing outside its folder is opened.

A longer campaign:  python test_fuzz_files.py SEED COUNT [NAME …]
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import in_children
import pytest
from corpus import CHEAP, FOREIGN, make
from mutations import mutate

QUICK = {"cheap": (CHEAP, 60), "foreign": (("xml", "urdf", "stl", "inp"), 8)}
SEED, MANY = 1, 100_000


def campaign(seed: int, count: int, chosen: list[str]) -> int:
    """Print what came out; how many things are wrong."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        os.chdir(home)  # some write to where they are told to
        names = chosen or [*CHEAP, *FOREIGN]
        known = make(home, names)
        for name in names:  # what is sound is read
            sound = in_children.outcome(lambda name=name: known[name][1](known[name][0]), home)
            assert sound == "fine", (name, sound)

        def cases():
            for k in range(count):
                name = names[k % len(names)]
                path, reader = known[name]
                rng = random.Random(f"{seed} {k}")
                before = path.read_bytes()
                way = mutate(path, home / "changed", rng)
                shutil.copyfile(home / "changed", path)
                yield f"{seed} {k} {name} {way}", lambda path=path, reader=reader: reader(path)
                path.write_bytes(before)

        counts, wrong = in_children.run_all(cases(), home)
        print(f"seed {seed}: {count} files, {dict(counts)}")
        return len(wrong)


def run(seed: int, count: int, names: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, __file__, str(seed), str(count), *names], capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize("which", QUICK)
def test_changed_files_are_read_or_refused(which):
    names, count = QUICK[which]
    run(SEED, count, names)


@pytest.mark.slow
def test_a_hundred_thousand_changed_files_are_read_or_refused():
    run(SEED + 1, MANY, ())


if __name__ == "__main__":
    os.environ.setdefault("DELASSUS_FUZZ", "1")
    raise SystemExit(min(campaign(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]), 100))
