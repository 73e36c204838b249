"""Whatever lies in the folder of machine code, and whoever else writes to it, kernels compute what their text says."""

import hashlib
import logging
import os
import pickle
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from llvmlite import binding
from numba import config

from delassus.kernel import cache, made_of, shipped, target
from delassus.waiting import SENTENCE

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

TEXT = "from delassus.kernel import njit\n@njit(cache=True)\ndef half(x):\n    return 0.5 * x\n"


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """An empty folder for machine code, and no file that came with a wheel."""
    return at(monkeypatch, tmp_path / "home")


def at(monkeypatch, place: Path) -> Path:
    monkeypatch.setenv("DELASSUS_CACHE", str(place))
    monkeypatch.setattr(cache, "shipped", lambda: None)
    cache.folder.cache_clear()
    return place


@pytest.fixture(autouse=True)
def _usual_folder_afterwards():
    yield
    cache.folder.cache_clear()


def half() -> tuple[float, int]:
    """What a kernel made just now says of 3, and how often it was found compiled."""
    module = sys.modules["kernels_of_a_test"] = ModuleType("kernels_of_a_test")
    exec(compile(TEXT, "kernels_of_a_test.py", "exec"), vars(module))
    value = module.half(3.0)
    return value, sum(module.half.stats.cache_hits.values())


def entries(home: Path) -> list[Path]:
    return [file for file in home.rglob("half-*") if file.is_file()]


def test_it_is_the_users_alone(home):
    assert half() == (1.5, 0)
    assert half() == (1.5, 1)
    assert len(entries(home)) == 1
    if os.name == "posix":
        assert stat.S_IMODE(home.stat().st_mode) == 0o700


def damaged(data: bytes) -> dict[str, bytes]:
    nonsense = pickle.dumps({"neither": "code", "nor": "types"})
    return {
        "empty": b"",
        "cut": data[: len(data) // 2],
        "one bit": data[:-1] + bytes([data[-1] ^ 1]),
        "other bytes": b"\x00" * 4096,
        "something else, with its checksum": hashlib.sha256(nonsense).digest() + nonsense,
        "no pickle, with its checksum": hashlib.sha256(b"junk").digest() + b"junk",
    }


def test_garbage_is_compiled_anew(home):
    half()
    (entry,) = entries(home)
    for what, data in damaged(entry.read_bytes()).items():
        entry.write_bytes(data)
        assert half() == (1.5, 0), what
        assert half() == (1.5, 1), what
    entry.unlink()
    entry.mkdir()
    assert half() == (1.5, 0)
    assert half() == (1.5, 0)


@pytest.mark.skipif(os.name != "posix", reason="owners and modes as POSIX has them")
def test_a_folder_that_others_may_write_to_is_neither_read_nor_written(home):
    half()
    home.chmod(0o777)
    cache.folder.cache_clear()
    assert half() == (1.5, 0)
    home.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(home, 12345, 12345)
        cache.folder.cache_clear()
        assert half() == (1.5, 0)


def test_without_a_folder_kernels_are_compiled(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    at(monkeypatch, tmp_path / "file" / "kernels")
    assert half() == (1.5, 0)
    assert half() == (1.5, 0)


def test_a_folder_that_is_only_read_is_read(home, monkeypatch):
    half()
    before = entries(home)
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(cache.tempfile, "mkstemp", lambda **_: (_ for _ in ()).throw(PermissionError("read-only")))
    cache.folder.cache_clear()
    assert half() == (1.5, 1)
    before[0].unlink()
    assert half() == (1.5, 0)
    assert not entries(home)


PROGRAM = """
import os, sys
if "killed" in sys.argv:
    os.replace = lambda *_: os._exit(9)
from delassus.kernel import njit
@njit(cache=True)
def part(x):
    return x + 1.0
@njit(cache=True)
def first(x):
    return 2.0 * part(x)
@njit(cache=True)
def second(x):
    return 3.0 * part(x)
if "together" in sys.argv:
    print("ready", flush=True)
    sys.stdin.readline()
print(first(1.0), second(1.0), sum(sum(k.stats.cache_hits.values()) for k in (first, second)))
"""


def test_processes_that_fill_it_together_and_one_that_is_killed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = os.environ | {"DELASSUS_CACHE": str(tmp_path / "home")}
    pipe = subprocess.PIPE

    def start(word: str) -> subprocess.Popen:
        command = [sys.executable, str(program), word]
        return subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def end(process: subprocess.Popen) -> str:
        out, err = process.communicate("\n", timeout=300)
        assert not err
        return out.replace("ready\n", "").strip()

    killed = start("killed")
    assert end(killed) == ""
    assert killed.returncode == 9
    left = [file for file in (tmp_path / "home").rglob(".new-*") if file.is_file()]
    assert left, "it was killed while it wrote"
    two = [start("together"), start("together")]
    for process in two:
        assert process.stdout.readline() == "ready\n"  # both have looked at nothing yet
    for process in two:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in two:
        assert end(process).startswith("4.0 6.0")
    assert end(start("alone")) == "4.0 6.0 2"


def test_what_is_old_goes_and_then_the_oldest_of_too_much(home, monkeypatch):
    now = time.time()
    ages = {"a": 100.0, "b": 10.0, "c": 5.0, "d": 1.0, ".new-x": 2.0, ".new-y": 0.0}  # days
    for name, days in ages.items():
        file = home / "versions" / "00" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * 100)
        os.utime(file, (now - days * 86400.0,) * 2)
    monkeypatch.setattr(cache, "_MOST_BYTES", 300)
    cache.folder()
    assert {file.name for file in home.rglob("*") if file.is_file()} == {"c", "d", ".new-y", "pruned"}
    (home / "versions" / "00" / "e").write_bytes(b"x" * 1000)
    cache.folder.cache_clear()
    cache.folder()
    assert (home / "versions" / "00" / "e").exists(), "looked at again within a week"


# ---- machine code that comes with a wheel


@pytest.fixture
def wheel(home, tmp_path, monkeypatch):
    """A function that opens a file with the entry of `half`, as a package that was just installed would."""
    half()
    file = tmp_path / "machine_code.bin"
    shipped.write([(entry.name, cache.read(entry.name)) for entry in entries(home)], file)

    def opened(data: bytes | None = None):
        file.write_bytes(file.read_bytes() if data is None else data)
        at(monkeypatch, tmp_path / str(time.monotonic_ns()))
        shipped.shipped.cache_clear()
        found = shipped.shipped(file)
        monkeypatch.setattr(cache, "shipped", lambda: found)
        return file.read_bytes()

    return opened


def test_kernels_of_a_wheel_are_not_compiled(wheel):
    wheel()
    assert half() == (1.5, 1)
    assert cache.folder() is not None
    assert not entries(cache.folder())


def test_a_damaged_file_counts_as_none(wheel):
    data = wheel()
    long_header = data[:8] + (1 << 62).to_bytes(8, "little") + data[16:]
    swapped = data.replace(b'"numba"', b'"Numba"')
    for broken in (b"", data[:5], data[:40], data[:-1] + bytes([data[-1] ^ 1]), long_header, swapped, data[:-200]):
        wheel(broken)
        assert half() == (1.5, 0)
        assert half() == (1.5, 1), "kept in the folder"


def test_code_for_another_compiler_is_left_alone_and_that_is_said_once(wheel, monkeypatch, caplog):
    usual = shipped.compiler()
    monkeypatch.setattr(shipped, "compiler", lambda: usual | {"numba": "0.1"})
    wheel()
    monkeypatch.setattr(logging.getLogger("delassus.compiling"), "disabled", False)  # a command may have run before
    with caplog.at_level(logging.WARNING, "delassus.compiling"):
        assert half() == (1.5, 0)
        assert half() == (1.5, 1)
    said = [record.message for record in caplog.records if record.message != SENTENCE]  # that it took long
    assert [f"numba {usual['numba']}" in message for message in said] == [True]


# ---- what counts


def test_the_target_is_the_same_on_every_processor_that_has_it(monkeypatch):
    def chosen(wanted: str, features: list[str]):
        has = binding.FeatureMap.fromkeys(features, True)
        monkeypatch.setattr(binding, "get_host_cpu_features", lambda: has)
        monkeypatch.setenv("DELASSUS_TARGET", wanted)
        target.codegen.cache_clear()
        return target.codegen().magic_tuple()

    try:
        assert chosen("baseline", [*target._NEEDED, "avx512f"])[1:] == (target.BASELINE, "")
        assert chosen("native", [*target._NEEDED])[1] != target.BASELINE
        assert chosen("baseline", ["sse4.2"])[1] != target.BASELINE
        with pytest.raises(ValueError, match="baseline or native"):
            chosen("fastest", [])
    finally:
        target.codegen.cache_clear()


def test_an_edited_overload_and_an_edited_intrinsic_count(tmp_path):
    program = """
from numba.extending import intrinsic, overload
from numba import types
from delassus.kernel import njit
def offered(x): ...
@overload(offered)
def _offered(x):
    return lambda x: x + ONE
@intrinsic
def own(typing, x):
    return x(x), lambda context, builder, signature, values: builder.fadd(values[0], context.get_constant(x, TWO))
@njit()
def with_overload(x):
    return offered(x)
@njit()
def with_intrinsic(x):
    return own(x)
"""
    prints = []
    for k, (one, two) in enumerate([("1.0", "2.0"), ("3.0", "2.0"), ("1.0", "5.0")]):
        file = tmp_path / f"edit_{k}.py"
        file.write_text(program.replace("ONE", one).replace("TWO", two))
        names: dict = {"__name__": "edited"}
        exec(compile(file.read_text(), str(file), "exec"), names)
        prints.append([made_of(names[name].py_func) for name in ("with_overload", "with_intrinsic")])
    assert len({both[0] for both in prints}) == len({both[1] for both in prints}) == 3


def test_mode_of_a_folder_made_beforehand_is_not_changed(tmp_path, monkeypatch):
    (tmp_path / "own").mkdir(mode=0o755)
    place = at(monkeypatch, tmp_path / "own")
    assert half() == (1.5, 0)
    assert half() == (1.5, 1)
    assert stat.S_IMODE(place.stat().st_mode) == 0o755
