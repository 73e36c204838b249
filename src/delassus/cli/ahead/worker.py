"""A process that compiles kernels: reads them as lines of JSON, and says of each whether it is there now."""

import json
import sys
from time import perf_counter

from delassus.cli.ahead.signatures import Entered, from_json


def main() -> None:
    """Until there are no more lines."""
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        begun, one = perf_counter(), Entered(*json.loads(line))
        try:
            one.kernel().compile(tuple(map(from_json, one.arguments)))
            is_there = True
        except Exception:  # it has another name or other arguments by now: compiled when it is needed
            is_there = False
        out.write(json.dumps([is_there, perf_counter() - begun]) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
