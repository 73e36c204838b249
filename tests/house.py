"""Counts that say how hard the code is to enter, over the text of the tree.

    python tests/house.py              the counts, beside the largest each may be
    python tests/house.py kernels_over_12    the places behind one of them
    python tests/house.py --set        write today's counts into house.json as the largest

Each count but those of lines is an upper bound that may only fall: `test_house.py` fails where one has grown. Lines
are printed alone: what is new needs some. How many files a reader opens between a call and its number is printed by
`files_entered.py`.
"""

import ast
import functools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BOUNDS = Path(__file__).with_suffix(".json")
CORE, PAPERS = "src/delassus", "src/delassus_papers"
WIDE_KERNEL, WIDEST_KERNEL = 8, 12
WIDE_FUNCTION = 6
LONG_TUPLE = 6
KNOWS_STORAGE = ("src/delassus/linalg/", "src/delassus/solvers/plan.py")
"""Where code may ask whether D has rigid structure: the storages themselves, and the plan of a solve."""

Place = str


def sources(*folders: str, root: Path = ROOT) -> list[Path]:
    """Python files below these folders of the tree."""
    return [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The syntax of a file."""
    return ast.parse(path.read_text())


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a file, methods and inner ones included."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_kernel(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Is it compiled, by `njit` in one of its spellings?"""
    return any("njit" in ast.unparse(decorator) for decorator in function.decorator_list)


def parameter_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Named parameters, `self` and `cls` not counted."""
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def wide_functions(most: int, kernels: bool, root: Path = ROOT) -> list[Place]:
    """Functions with more than `most` parameters, all or kernels alone."""
    return [
        f"{path.relative_to(root)}:{function.lineno} {function.name} {parameter_count(function)}"
        for path in sources("src", root=root)
        for function in functions(path)
        if parameter_count(function) > most and (is_kernel(function) or not kernels)
    ]


def long_unpackings(root: Path = ROOT) -> list[Place]:
    """Assignments and loops that take a tuple of six or more apart by place."""
    return [
        f"{path.relative_to(root)}:{node.lineno} {len(node.elts)}"
        for path in sources("src", root=root)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Store) and len(node.elts) >= LONG_TUPLE
    ]


def lines_with(texts: tuple[str, ...], *folders: str, but: tuple[str, ...] = (), root: Path = ROOT) -> list[Place]:
    """Lines in which one of these texts stands."""
    return [
        f"{path.relative_to(root)}:{number}"
        for path in sources(*folders, root=root)
        if not path.relative_to(root).as_posix().startswith(but)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if any(text in line for text in texts)
    ]


def all_lines(*folders: str, root: Path = ROOT) -> list[Place]:
    """A place for every line of code, text or nothing."""
    return lines_with(("",), *folders, root=root)


SKIP = "fmt: " + "skip"
COUNTS: dict[str, Callable[..., list[Place]]] = {
    "kernels_over_8": lambda root=ROOT: wide_functions(WIDE_KERNEL, True, root),
    "kernels_over_12": lambda root=ROOT: wide_functions(WIDEST_KERNEL, True, root),
    "functions_over_6": lambda root=ROOT: wide_functions(WIDE_FUNCTION, False, root),
    "long_unpackings": long_unpackings,
    "fmt_skip_src": lambda root=ROOT: lines_with((SKIP,), "src", root=root),
    "fmt_skip_elsewhere": lambda root=ROOT: lines_with((SKIP,), "tests", "benchmarks", "examples", "docs", root=root),
    "rigid_is_none": lambda root=ROOT: lines_with(
        ("rigid is None", "rigid is not None"), "src", but=KNOWS_STORAGE, root=root
    ),
    "lines_core": lambda root=ROOT: all_lines(CORE, root=root),
    "lines_src": lambda root=ROOT: all_lines("src", root=root),
}


PRINTED_ALONE = ("lines_core", "lines_src")


def counts(root: Path = ROOT) -> dict[str, int]:
    """Every count by name."""
    return {name: len(count(root=root)) for name, count in COUNTS.items()}


def bounds() -> dict[str, int]:
    """The largest that each may be."""
    return json.loads(BOUNDS.read_text())


def main(arguments: list[str]) -> None:
    root = Path(arguments.pop(arguments.index("--root") + 1)) if "--root" in arguments else ROOT
    arguments = [argument for argument in arguments if argument != "--root"]
    if arguments and arguments[0] in COUNTS:
        print("\n".join(COUNTS[arguments[0]](root=root)))
        return
    found = counts(root)
    if "--set" in arguments:
        held = {name: count for name, count in found.items() if name not in PRINTED_ALONE}
        BOUNDS.write_text(json.dumps(held, indent=2) + "\n")
    for name, count in found.items():
        print(f"{name:20}{count:8}   at most {bounds().get(name, '-')}")


if __name__ == "__main__":
    main(sys.argv[1:])
