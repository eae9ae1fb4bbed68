"""Runs the scenarios with the libraries of the named modules of locks, and
prints one line of JSON for each library and scenario.

    python -m suite redis_py pottery
"""

import importlib
import json
import logging
import sys
import time
from importlib.metadata import version
from itertools import zip_longest

from .locks.base import NotOffered
from .scenarios import SCENARIOS
from .servers import from_environment
from .world import World


def play(scenario, server, kind):
    """One scenario with one library on one server."""
    world = World(server, kind)
    try:
        scenario(world)
    finally:
        world.close()
    return world


def compare(scenario, servers, kind):
    """The result of a scenario and its detail."""
    try:
        plain, proxy = (play(scenario, server, kind) for server in servers)
    except NotOffered as missing:
        return "unsupported", f"library: {missing}"
    if proxy.refusal:
        return "unsupported", f"proxy: {proxy.refusal}"
    if proxy.notes == plain.notes and not proxy.wrong:
        return "pass", ""
    return "differs", difference(proxy.notes, plain.notes)


def difference(proxy, plain):
    """What differs; all, if both did the same wrong thing."""
    pairs = [(a, b) for a, b in zip_longest(proxy, plain, fillvalue="-") if a != b]
    if pairs:
        proxy, plain = zip(*pairs, strict=True)
    return f"proxy: {'; '.join(proxy)}; plain: {'; '.join(plain)}"


def report(kind, scenario, result, detail):
    line = {
        "language": "python",
        "library": kind.library,
        "version": version(kind.package),
        "scenario": scenario,
        "result": result,
        "detail": detail,
    }
    print(json.dumps(line), flush=True)


def main(modules):
    logging.disable()  # libraries log what their caller is told anyway
    servers = from_environment()
    for module in modules:
        for kind in importlib.import_module(f".locks.{module}", __package__).LOCKS:
            start = time.monotonic()
            for name, scenario in SCENARIOS.items():
                report(kind, name, *compare(scenario, servers, kind))
            print(f"{kind.library}: {time.monotonic() - start:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
