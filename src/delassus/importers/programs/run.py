"""What runs one of the programs beside it, by itself: reads a request and its files, limits itself, answers.

    python -I run.py NAME    calls `answer(request, files)` of NAME.py, which gives arrays by name, and a table

Isolated as it is from the folder it is in, it finds the program by its path.
"""

import io
import json
import os
import resource
import runpy
import signal
import sys
from typing import Any


def main() -> None:
    """A and the answer, or E and one sentence; what programs print goes with the errors."""
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
    try:
        program = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{sys.argv[1]}.py"))
        kind, body = b"A", packed(*program["answer"](head["request"], files))
    except Exception as error:
        kind, body = b"E", (str(error).strip() or type(error).__name__).encode()
    with os.fdopen(output, "wb") as answer:
        answer.write(kind + body)
    os._exit(0)  # threads of compilers need not be waited for


def packed(arrays: dict[str, Any], table: Any) -> bytes:
    """NPZ, the table as JSON in one of its arrays."""
    import numpy as np

    out = io.BytesIO()
    np.savez(out, table=np.frombuffer(json.dumps(table).encode(), np.uint8), **arrays)
    return out.getvalue()


if __name__ == "__main__":
    main()
