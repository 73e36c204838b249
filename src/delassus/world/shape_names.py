"""What shapes are called: by their kind, and by their number where a body has several."""

from delassus.collision.arrays import ShapeArrays
from delassus.collision.instances import FIXTURES
from delassus.collision.layout import SUPPORT_ONLY, TRIANGLE
from delassus.collision.parts import KINDS
from delassus.model.model import Model

SURFACE = "surface"
"""Of a flexible body."""
_WORDS = {number: name for name, number in KINDS.items()} | {TRIANGLE: "mesh"}


class ShapeNames:
    """Names of the rows of a model's `ShapeArrays`, and of the shapes of each body."""

    def __init__(self, model: Model):
        shapes, self._names, self._body_count = model.shapes, list[str](), model.body_count
        others = iter(shapes.support_only_kinds)
        kinds = [next(others) if kind == SUPPORT_ONLY else _WORDS[int(kind)] for kind in shapes.kind]
        owner = _owners(shapes, model.body_count)
        numbers: dict[int, dict[int, int]] = {}  # of each body's shapes, as given: compounds and meshes are one
        for s, instance in enumerate(shapes.instance):
            numbers.setdefault(owner[s], {}).setdefault(int(instance), len(numbers[owner[s]]) + 1)
        self._of: dict[int, list[str]] = {}
        for s, kind in enumerate(kinds):
            mine = numbers[owner[s]]
            name = kind if len(mine) == 1 else f"{kind}-{mine[int(shapes.instance[s])]}"
            self._names.append(name)
            if name not in self._of.setdefault(owner[s], []):
                self._of[owner[s]].append(name)
        if model.flexible is not None:  # their surfaces are numbered after all shapes
            rigid = model.body_count + len(model.fixed_names)
            owner = owner + [rigid + k for k in range(len(model.flexible.names))]
            self._names += [SURFACE] * len(model.flexible.names)
        self.owner = owner

    def __getitem__(self, s: int) -> str:
        return self._names[s]

    def of(self, body: int) -> tuple[str, ...]:
        """Of a body's shapes; fixed bodies are numbered after the moving ones."""
        return tuple(self._of.get(body, ()))


def _owners(shapes: ShapeArrays, bodies: int) -> list[int]:
    """The body of each row, fixed ones numbered after the moving ones."""
    return [int(o) - FIXTURES + bodies if o >= FIXTURES else int(o) for o in shapes.owner]
