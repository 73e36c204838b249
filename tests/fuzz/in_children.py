"""Cases in processes of their own: forked from one that has loaded everything, with 2 GiB and 20 s each, and with an
audit hook that writes down which files were opened."""

import contextlib
import gc
import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from platformdirs import user_cache_dir

from delassus.errors import DelassusError

MEMORY = 2 << 30  # bytes beyond what is loaded
SECONDS = 20  # of the processor
LONGEST = 120  # seconds that a case may wait, for a machine that does other things, too
MOST_GROWN = 1 << 30  # bytes that a case on a file of at most 1 MB may take
ALLOWED = tuple(
    {
        sys.prefix,
        sys.base_prefix,
        "/usr",
        "/lib",
        "/proc",
        "/sys",
        "/dev/null",
        "/dev/urandom",
        "/etc/ld.so.cache",
        "/etc/localtime",
        user_cache_dir("delassus"),
        *(str(Path(p).resolve()) for p in sys.path if p),
        str(Path(__file__).parents[2]),
    }
)
_opened: list[str] = []
_is_listening = False


def _hook(event: str, arguments: tuple) -> None:
    if _is_listening and event == "open" and isinstance(arguments[0], str):
        _opened.append(os.path.abspath(arguments[0]))


def outcome(action: Callable[[], object], home: Path) -> str:
    """ "fine", "refused", or what is wrong."""
    global _is_listening
    _opened.clear()
    _is_listening = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            action()
        found = "fine"
    except DelassusError as error:
        text = str(error)
        bad = [c for c in text if not c.isprintable()]
        found = f"wrong message {text!r}" if bad or not text or len(text) > 3000 else "refused"
    except Exception as error:  # what this looks for
        place = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in place if "/delassus" in frame.filename]
        at = ours[-1] if ours else place[-1]
        found = f"leaked {type(error).__name__} at {Path(at.filename).name}:{at.lineno}: {str(error)[:150]}"
    finally:
        _is_listening = False
    outside = [path for path in _opened if not path.startswith((*ALLOWED, str(home), tempfile.gettempdir()))]
    return f"opened {outside[0]}" if outside else found


def run_all(cases: Iterable[tuple[str, Callable[[], object]]], home: Path) -> tuple[Counter[str], dict[str, str]]:
    """(how often what came out, what is wrong → the first case that shows it)."""
    sys.addaudithook(_hook)
    gc.freeze()
    counts: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    for name, action in cases:
        found = _forked(action, home)
        counts[found.partition(" ")[0]] += 1
        if found not in ("fine", "refused"):
            if found not in wrong:
                print(f"WRONG {found}\n      {name}", flush=True)
            wrong.setdefault(found, name)
    return counts, wrong


def _forked(action: Callable[[], object], home: Path) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.close(reading)
            pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (pages + MEMORY, pages + MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            signal.alarm(LONGEST)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            found = outcome(action, home)
            grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
            found = f"grew by {grown >> 20} MB" if grown > MOST_GROWN else found
            os.write(writing, found.encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        text = stream.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code in (-signal.SIGALRM, -signal.SIGXCPU, -signal.SIGKILL):
        return "hung"
    return f"crashed with {code}" if code != 0 else text or "said nothing"
