"""Every public callable with sound and odd arguments: it answers, or refuses in one sentence of ours, within 2 GiB and
20 s, and does not crash.

A longer campaign:  python test_fuzz_arguments.py SEED COUNT [PART OF A NAME]
"""

import inspect
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import in_children
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from odd_values import ODD
from public import callables, pantry

SEED, FEW, MANY = 1, 150, 100_000


def arguments(signature: inspect.Signature, stock: dict, odd: list, rng: random.Random) -> dict:
    """Sound values where some are known and by chance, odd ones elsewhere; at least one of these."""
    out, named = {}, [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if not named:
        return out
    must = rng.choice(named).name
    for parameter in named:
        is_sound = parameter.name in stock and rng.random() < 0.8 and parameter.name != must
        if is_sound:
            out[parameter.name] = stock[parameter.name]
        elif parameter.default is parameter.empty or parameter.name == must:
            out[parameter.name] = rng.choice(odd)
    return out


def call(get, signature: inspect.Signature, values: dict) -> object:
    """What the function answers; those that stand before `/` by their place."""
    first = [values[p.name] for p in signature.parameters.values() if p.kind is p.POSITIONAL_ONLY and p.name in values]
    rest = {k: v for k, v in values.items() if signature.parameters[k].kind is not inspect.Parameter.POSITIONAL_ONLY}
    return get()(*first, **rest)


def drawn(seed: int, count: int) -> list:
    """Odd values that Hypothesis makes of a seed."""
    found: list = []

    @seeded(seed)
    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(st.lists(ODD, min_size=6, max_size=6))
    def collect(values):
        found.append(values)

    collect()
    return found


def campaign(seed: int, count: int, only: str = "") -> int:
    """Print what came out; how many things are wrong."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        os.chdir(home)  # some write to where they are told to
        stock = pantry(home)
        known = [one for one in callables(stock) if only in one[0]]
        odd = drawn(seed, min(count, 2000))

        def cases():
            for k in range(count):
                rng = random.Random(f"{seed} {k}")
                name, get, signature = known[k % len(known)]
                values = arguments(signature, stock, rng.choice(odd), rng)
                text = f"{seed} {k} {name}({', '.join(f'{key}={str(value)[:60]!r}' for key, value in values.items())})"
                yield text, lambda get=get, signature=signature, values=values: call(get, signature, values)

        counts, wrong = in_children.run_all(cases(), home)
        print(f"seed {seed}: {count} calls of {len(known)} callables, {dict(counts)}")
        return len(wrong)


def run(seed: int, count: int) -> None:
    done = subprocess.run(
        [sys.executable, __file__, str(seed), str(count)], capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_odd_arguments_are_refused_or_taken():
    run(SEED, FEW)


@pytest.mark.slow
def test_a_hundred_thousand_odd_calls_are_refused_or_taken():
    run(SEED + 1, MANY)


if __name__ == "__main__":
    raise SystemExit(min(campaign(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4]), 100))
