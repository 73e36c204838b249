"""Numbers as people read them in a terminal."""

MISSING = "–"


def seconds(value: float) -> str:
    """'35 µs', '4.2 ms', '1.73 s', '12 min 5 s'."""
    if value < 1e-3:
        return f"{1e6 * value:.0f} µs"
    if value < 1.0:
        return f"{1e3 * value:.3g} ms" if value < 0.9995 else "1 s"
    if value < 120.0:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s"


def count(value: int | None) -> str:
    """'12000' (no separators: tables are piped into other programs), or a dash."""
    return MISSING if value is None else str(value)


def scientific(value: float | None) -> str:
    """'3.2e-07', or a dash."""
    return MISSING if value is None else f"{value:.1e}"


def plain(value: float | None) -> str:
    """Three significant digits, or a dash."""
    return MISSING if value is None else f"{value:.3g}"
