"""`delassus compile`: kernels of the list are compiled in other processes, and found by this one; what is wrong in the
list is passed over."""

import json
import os
import subprocess
import sys

import pytest
from numba import config, types

from delassus.cli.ahead import workers
from delassus.cli.ahead.signatures import Entered, from_json, read_list, to_json, write_list
from delassus.errors import SettingsError
from delassus.kernel import cache
from delassus.kernel.argument_blocks import ArgumentBlockType
from delassus.scenes import SCENES

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

NORM = Entered("delassus.spatial", "tangents", ["float64[1C]", "float64[1C]", "float64[1C]"], 7000, ["test"])
GONE = Entered("delassus.spatial", "no_such_kernel", ["float64[1C]"], 7000, ["test"])
WRONG = Entered("delassus.spatial", "tangents", ["float64[1C]"], 7000, ["test"])
ARRAY = types.Array(types.float64, 2, "A", readonly=True)


@pytest.mark.parametrize(
    "kind",
    [
        *(types.float64, types.int32, types.uint8, types.boolean, types.none, types.Omitted(0.5)),
        *(ARRAY, types.Array(types.boolean, 1, "C"), types.Array(types.int8, 3, "F")),
        *(types.Tuple([types.int64, ARRAY]), types.UniTuple(ARRAY, 2), types.Tuple([])),
        types.Tuple([types.Tuple([types.none, ARRAY]), types.int64]),
        types.BaseTuple.from_types([ARRAY] * len(Entered._fields), Entered),
        ArgumentBlockType(types.Tuple([types.int64, ARRAY])),
    ],
    ids=str,
)
def test_types_come_back(kind):
    assert from_json(json.loads(json.dumps(to_json(kind)))) == kind


@pytest.mark.parametrize(
    "kind", [types.unicode_type, types.literal(3), types.Omitted("x"), types.Array(types.unicode_type, 1, "C")]
)
def test_types_without_a_name_are_refused(kind):
    with pytest.raises(ValueError, match=r".*"):
        to_json(kind)


def test_the_list_is_in_its_form(tmp_path):
    found = read_list()
    assert [one.size for one in found] == sorted((one.size for one in found), reverse=True)
    assert {f"run {name}" for name in SCENES} >= {use for one in found for use in one.uses if use.startswith("run ")}
    write_list(found, tmp_path / "again.json")
    assert read_list(tmp_path / "again.json") == found


@pytest.mark.slow
def test_the_list_is_of_today():
    """Else: python .ci/train.py --list."""
    found = read_list()
    here = [one for one in found if "run four-bar-free" in one.uses]
    assert sum(not workers.is_missing(one) or one.kernel() is not None for one in here) > 0.9 * len(here)


def test_processes_compile_what_this_one_then_finds(tmp_path, monkeypatch):
    monkeypatch.setenv("DELASSUS_CACHE", str(tmp_path / "home"))
    cache.folder.cache_clear()
    try:
        assert [workers.is_missing(one) for one in (NORM, GONE)] == [True, False]
        assert workers.compile_kernels([GONE, NORM, WRONG], 1) == 1
        assert not workers.is_missing(NORM)
    finally:
        cache.folder.cache_clear()


def test_a_process_that_dies_is_no_reason_to_wait(monkeypatch, tmp_path):
    monkeypatch.setattr(workers.sys, "executable", "/bin/false" if os.name == "posix" else "cmd")
    assert workers.compile_kernels([NORM, GONE], 2) == 0


def test_how_many_processes_is_a_setting(monkeypatch):
    assert workers.processors() == 1, "tests ask for it"
    for wrong in ("0", "-1", "two", ""):
        monkeypatch.setenv("DELASSUS_PROCESSES", wrong)
        with pytest.raises(SettingsError, match="at least 1"):
            workers.processors()
    monkeypatch.delenv("DELASSUS_PROCESSES")
    assert workers.processors() >= 1


def test_the_command(tmp_path):
    env = os.environ | {"DELASSUS_CACHE": str(tmp_path / "file" / "none")}
    (tmp_path / "file").touch()
    command = [sys.executable, "-m", "delassus", "compile"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert "set DELASSUS_CACHE" in done.stderr
