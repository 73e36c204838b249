"""What a file says and the model does not: said once, by name."""

from delassus.errors import printable

_NAMED = 3  # of many culprits


class Notes:
    """Collects (what, name, meaning); `texts` are one sentence for each kind."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[str]] = {}

    def add(self, what: str, name: str, meaning: str) -> None:
        """what: kind of thing; name: which; meaning: what it means for the model."""
        names, name = self._found.setdefault((what, meaning), []), printable(name)
        if name not in names:
            names.append(name)

    @property
    def texts(self) -> tuple[str, ...]:
        """Sentences."""
        out = []
        for (what, meaning), names in self._found.items():
            known = [name for name in names if name]
            more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
            listed = f" ({', '.join(known[:_NAMED])}{more})" if known else ""
            out.append(f"{what}{listed}: {meaning}")
        return tuple(out)
