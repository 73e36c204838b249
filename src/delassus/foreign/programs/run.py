"""What runs one of the programs beside it, by itself: reads a request and its files, limits itself, answers.

    python -I run.py NAME    calls `answer(request, files)` of NAME.py, which gives arrays by name, and a table

Isolated as it is from the folder it is in, it finds the program by its path.
"""

import ctypes
import io
import json
import os
import resource
import runpy
import signal
import sys
from typing import Any

MOST_ANSWER = 1 << 30  # bytes
# Landlock, Linux's own sandbox (security/landlock in its documentation): numbers of its calls, and of rights.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVILEGES = 38
_READ = 1 << 2 | 1 << 3 | 1 << 0  # files, folders, and to run what is there
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}  # of the file system, by Landlock's version
_SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/etc/ld.so.cache",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self",
    "/sys/devices/system",
    "/dev/null",
    "/dev/urandom",
)


def main() -> None:
    """A and the answer, or E and what went wrong; what programs print goes with the errors."""
    stream = sys.stdin.buffer
    head = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    files = {name: stream.read(size) for name, size in head["files"]}
    if head["on_disk"]:
        for name, content in files.items():
            os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
            with open(name, "wb") as out:
                out.write(content)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (head["memory"], head["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (int(head["seconds"]), int(head["seconds"])))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    output = os.dup(1)
    os.dup2(2, 1)
    confine(os.getcwd())
    try:
        program = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{sys.argv[1]}.py"))
        kind, body = b"A", packed(*program["answer"](head["request"], files))
        if len(body) > MOST_ANSWER:
            raise ValueError(f"makes {len(body) >> 20} MB, at most {MOST_ANSWER >> 20} are taken: simplify it")
    except (Exception, SystemExit) as error:
        kind, body = b"E", json.dumps([type(error).__name__, str(error).strip()]).encode()
    with os.fdopen(output, "wb") as answer:
        answer.write(kind + body)
    os._exit(0)  # threads of compilers need not be waited for


def confine(folder: str) -> None:
    """Nothing may be written any more, and nothing be read but this folder, Python and the system's libraries; where
    the system has no Landlock, names are all that keeps a compiler from other files."""
    system = ctypes.CDLL(None, use_errno=True)
    version = system.syscall(_CREATE, None, 0, 1)
    if sys.platform != "linux" or version < 1:
        return
    rights = ctypes.c_uint64(_RIGHTS[min(version, 3)])
    rules = system.syscall(_CREATE, ctypes.byref(rights), 8, 0)
    if rules < 0:
        return
    for place in {folder, sys.prefix, sys.base_prefix, os.path.dirname(__file__), *sys.path, *_SYSTEM}:
        if not os.path.exists(place):
            continue
        handle = os.open(place, os.O_PATH)
        may = _READ if os.path.isdir(place) else _READ & ~(1 << 3)
        rule = may.to_bytes(8, "little") + handle.to_bytes(4, "little", signed=True)
        system.syscall(_ADD, rules, 1, rule, 0)
        os.close(handle)
    system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    system.syscall(_RESTRICT, rules, 0)
    os.close(rules)


def packed(arrays: dict[str, Any], table: Any) -> bytes:
    """NPZ, the table as JSON in one of its arrays."""
    import numpy as np

    out = io.BytesIO()
    np.savez(out, table=np.frombuffer(json.dumps(table).encode(), np.uint8), **arrays)
    return out.getvalue()


if __name__ == "__main__":
    main()
