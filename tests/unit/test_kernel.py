"""Our `njit` computes what Numba's does, and compiles parts as parts."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numba
import numpy as np
import pytest
from numba import config

from delassus.kernel import made_of, njit
from delassus.kernel.compiler import _ROOM, _with_room

SOURCE = Path(__file__).parents[2] / "src" / "delassus"
compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


@njit(error_model="numpy")
def element(x, i):
    if i > 3:
        raise ValueError("too far", i)
    return x[i]


@njit(error_model="numpy")
def doubled(x, i):
    return 2.0 * element(x, i)


@njit()
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


@numba.njit
def by_numba(x, i):
    return element(x, i)


@njit()
def of_numba(x, i):
    return by_numba(x, i) + 1.0


X = np.arange(10.0)


def test_a_kernel_is_called_by_python_and_by_kernels():
    assert doubled(X, 3) == 6.0
    assert element(X, 3) == 3.0
    assert factorial(5) == 120


def test_kernels_of_both_decorators_call_each_other():
    assert of_numba(X, 2) == 3.0
    assert by_numba(X, 2) == 2.0  # compiled as a part of the kernel above, and yet callable
    assert of_numba(X, 1) == 2.0


@pytest.mark.parametrize("kernel", [element, doubled, by_numba, of_numba])
def test_exceptions_of_parts_arrive_with_what_they_say(kernel):
    with pytest.raises(ValueError, match="too far") as caught:
        kernel(X, 7)
    assert caught.value.args == ("too far", 7)


@compiled
def test_machine_code_is_made_of_what_python_calls_alone():
    @njit()
    def inner(x):
        return x + 1.0

    @njit()
    def outer(x):
        return inner(x)

    assert outer(1.0) == 2.0
    assert not inner.overloads, "compiled as a whole although nobody called it"
    (part,) = inner._numba_type_.dispatcher.overloads.values()
    assert not part.library.is_entered
    (whole,) = outer.overloads.values()
    assert whole.library.is_entered


@compiled
def test_options_of_a_caller_reach_what_numba_offers():
    """Each set of options has its own copy of what Numba offers, told apart by the options that were set."""

    @njit(error_model="numpy")
    def quiet(x):
        return np.mean(x / np.zeros(1))

    @njit(error_model="python")
    def loud(x, y):
        return x / y

    assert quiet(1.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        loud(1.0, 0.0)


TWO_KERNELS = """
import sys
from delassus.kernel import njit
from numba.core import event

@njit(cache=True)
def part(x):
    if x > 3.0:
        raise ValueError("too large", x)
    return x + 1.0

@njit(cache=True)
def first(x):
    return part(x)

@njit(cache=True)
def second(x):
    return 2.0 * part(x)

class Names(event.Listener):
    def on_start(self, event):
        print(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass

with event.install_listener("numba:compile", Names()):
    kernel = {"first": first, "second": second}[sys.argv[1]]
    print(kernel(1.0))
    try:
        kernel(4.0)
    except ValueError as error:
        print(error.args)
"""


@compiled
def test_parts_and_kernels_come_from_the_cache(tmp_path):
    """What one process has compiled the next one loads: a part for another kernel, and kernels whole."""
    program = tmp_path / "two_kernels.py"
    program.write_text(TWO_KERNELS)
    env = os.environ | {"DELASSUS_CACHE": str(tmp_path / "cache")}

    def run(name: str) -> list[str]:
        command = [sys.executable, str(program), name]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout.splitlines()

    said = "('too large', 4.0)"
    assert run("first") == ["first", "part", "2.0", said]
    assert run("second") == ["second", "4.0", said]
    assert run("first") == ["2.0", said]
    assert run("second") == ["4.0", said]


@compiled
def test_a_kernel_whose_parts_have_changed_is_compiled_anew(tmp_path):
    """A file of constants, one of parts and the program: after an edit of any, what comes out is the new text's."""
    edits = {
        "numbers_.py": ("ONE = 1.0", "ONE = 3.0"),
        "parts_.py": ("x * ONE", "x * ONE + 5.0"),
        "program.py": ("2.0 * part(x)", "7.0 * part(x)"),
    }
    texts = {
        "numbers_.py": "ONE = 1.0\n",
        "parts_.py": "from delassus.kernel import njit\nfrom numbers_ import ONE\n"
        "@njit(cache=True)\ndef inner(x):\n    return x * ONE\n"
        "@njit(cache=True)\ndef part(x):\n    return inner(x) if x in (8.0, 9.0) else inner(x)\n",
        "program.py": "from delassus.kernel import njit\nfrom parts_ import part\n"
        "@njit(cache=True)\ndef whole(x):\n    return 2.0 * part(x)\n"
        "print(whole(1.0), sum(whole.stats.cache_hits.values()))\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    env = os.environ | {"DELASSUS_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run() -> str:
        command = [sys.executable, str(tmp_path / "program.py")]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout.strip()

    assert (run(), run()) == ("2.0 0", "2.0 1")
    for (name, (old, new)), value in zip(edits.items(), ("6.0", "16.0", "56.0"), strict=True):
        (tmp_path / name).write_text((tmp_path / name).read_text().replace(old, new))
        assert (run(), run()) == (f"{value} 0", f"{value} 1")


@compiled
def test_what_is_called_through_its_module_and_how_it_is_compiled_count():
    def fingerprint(one="1.0", body="x", options="fastmath={'nnan', 'ninf'}"):
        other = ModuleType("other")
        own = {"other": other}
        text = f"from delassus.kernel import njit\nONE = {one}\n@njit({options})\ndef part(x):\n    return {body}\n"
        exec(text, vars(other))
        exec("def whole(x):\n    return other.part(x) + other.ONE\n", own)
        return made_of(own["whole"])

    changed = [fingerprint(one="3.0"), fingerprint(body="x + x"), fingerprint(options="fastmath={'nnan'}")]
    assert len({fingerprint(), fingerprint(), *changed}) == 4


@pytest.mark.skipif(sys.platform != "linux", reason="counts what Linux counts")
def test_deep_calls_do_not_ask_the_system_for_stack():
    """Calls across a border of Python's pieces of stack ask the system for a page and give it back, each time."""
    import resource

    def leaf():
        return None

    def at_depth(depth: int) -> int:
        if depth:
            return at_depth(depth - 1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(1000):
            leaf()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    faults = _with_room(lambda depths: [at_depth(d) for d in depths], range(400))
    assert max(faults) < 100
    assert _with_room.__code__.co_stacksize > _ROOM


def test_all_kernels_are_compiled_so():
    others = [
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        for line in file.read_text().splitlines()
        if line.startswith("from numba import") and "njit" in line
    ]
    assert not others, f"import njit from delassus.kernel: {others}"


def test_functions_of_numba_itself_call_parts_from_the_cache(tmp_path):
    """In one process the part is made, in the next it is loaded, by a compiler that knows nothing of parts."""
    code = (
        "import numba, numpy as np\n"
        "from delassus.linalg.dense_product import max_abs\n"
        "mine = numba.njit(lambda x: max_abs(x) + 1.0)\n"
        "print(mine(np.arange(3.0)))\n"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=300,
            env=os.environ | {"DELASSUS_CACHE": str(tmp_path)},
        )
        assert done.stdout.strip() == "3.0", done.stderr
