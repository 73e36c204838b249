"""Join the fragments of this folder under a new heading of CHANGELOG.md, and delete them.

python changelog/join.py VERSION DATE
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent


def fragments(folder: Path) -> list[Path]:
    """The fragments, in the order of their names."""
    return sorted(path for path in folder.glob("*.md") if path.name != "README.md")


def join(folder: Path, changelog: Path, heading: str) -> None:
    """Put all fragments of `folder` under `heading`, above the releases before."""
    files = fragments(folder)
    if not files:
        raise SystemExit(f"{folder}: no fragment to join")
    text = "\n".join(path.read_text().strip() for path in files)
    title, _, releases = changelog.read_text().partition("\n## ")
    changelog.write_text(f"{title.rstrip()}\n\n## {heading}\n\n{text}\n\n## {releases}")
    for path in files:
        path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    join(HERE, HERE.parent / "CHANGELOG.md", f"{sys.argv[1]} ({sys.argv[2]})")
