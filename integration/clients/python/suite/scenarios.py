"""The scenarios that every language goes through; ../../README.md lists them.

Each gets a World. Lock objects a, b and c have tokens of their own.
"""

import threading
import time

from .locks.base import TTL, NotOffered
from .world import Outcome

CALLERS = 8
DEADLINE = 30  # seconds for all rounds of contention


def acquire_free(world):
    a = world.lock()
    world.acquire("A", a)
    world.look(a)


def acquire_held(world):
    a, b = world.lock(), world.lock()
    world.acquire("A", a)
    world.acquire("B", b, wanted=False)


def release_own(world):
    a, b = world.lock(), world.lock()
    world.acquire("A", a)
    world.call("A releases", a.release)
    world.acquire("B", b)


def release_other(world):
    a, b, c = world.lock(), world.lock(world.short_ttl), world.lock()
    world.acquire("B", b)
    world.lapse(b)
    world.acquire("A", a)
    world.call("B releases", b.release)
    outcome = world.call("C acquires", c.acquire)
    world.note("A keeps it", not c.won(outcome))  # not everywhere: some delete without a look


def release_after_lapse(world):
    a, b = world.lock(world.short_ttl), world.lock()
    world.acquire("A", a)
    world.lapse(a)
    world.call("A releases", a.release)
    world.acquire("B", b)


def extend_own(world):
    holders = one_for_each_way(world)
    for way, a in holders.items():
        world.acquire("A", a)
        world.call(f"A extends by {way}", a.extensions()[way], TTL)
        world.look(a)
    time.sleep(world.short_ttl + 0.1)
    for way in holders:
        world.acquire("B", world.lock(part=way), wanted=False)


def extend_after_lapse(world):
    holders = one_for_each_way(world)
    for a in holders.values():
        world.acquire("A", a)
    for way, a in holders.items():
        world.lapse(a)
        world.call(f"A extends by {way}", a.extensions()[way], TTL)
        world.call("B acquires", world.lock(part=way).acquire)  # refused if A acquired again


def one_for_each_way(world):
    """A short lock for each way to extend, each on a lock of its own."""
    return {way: world.lock(world.short_ttl, way) for way in world.lock().extensions()}


def query_owned(world):
    a, b = world.lock(), world.lock()

    def ask(when):
        for who, lock in ("A", a), ("B", b):
            for name, query in lock.queries().items():
                world.call(f"{who} asks {name} {when}", query)

    ask("before")
    world.acquire("A", a)
    ask("while A holds")
    world.call("A releases", a.release)
    ask("after")


def lapse_hands_over(world):
    a, b = world.lock(world.short_ttl), world.lock()
    start = time.monotonic()
    world.acquire("A", a)
    outcome = world.call("B waits and acquires", b.wait, a.ttl + 5)
    late = time.monotonic() - start - a.ttl
    world.want("B has it", b.won(outcome), True)
    # A server counts whole milliseconds: the one it is in may be nearly over.
    world.want("after A's TTL", late > -0.002, True)
    world.want("within 2 s", late < 2, True)


class Rounds:
    """Callers that take turns with one lock, and whether two were ever inside."""

    def __init__(self, world, rounds):
        self.world = world
        self.rounds = rounds
        self.end = time.monotonic() + DEADLINE
        self.guard = threading.Lock()
        self.inside = self.overlaps = self.done = 0
        self.third = threading.Event()  # a third of all rounds are over
        self.error = ""

    def run(self, in_between):
        callers = [threading.Thread(target=self.call) for _ in range(CALLERS)]
        for caller in callers:
            caller.start()
        self.third.wait(DEADLINE)
        in_between()
        for caller in callers:
            caller.join()
        self.world.want("rounds", self.done, CALLERS * self.rounds)
        self.world.want("overlaps", self.overlaps, 0)
        self.world.want("error", self.error or "none", "none")

    def call(self):
        """One caller, to the end or to the first error of any of them."""
        try:
            lock = self.world.lock()
            for _ in range(self.rounds):
                self.round(lock)
        except Exception as error:
            with self.guard:
                # Those that follow come of the first.
                self.error = self.error or self.world.words(Outcome(error=error))
            self.end = time.monotonic()
            self.third.set()

    def round(self, lock):
        while lock.wait(2) is False:
            if time.monotonic() > self.end:
                raise TimeoutError("never got the lock")
        with self.guard:
            self.inside += 1
            self.overlaps += self.inside > 1
        time.sleep(0.0005)
        with self.guard:
            self.inside -= 1
            self.done += 1
            if self.done * 3 >= CALLERS * self.rounds:
                self.third.set()
        lock.release()


def contention(world):
    Rounds(world, 50).run(lambda: None)


def master_killed(world):
    try:
        Rounds(world, 25).run(world.server.kill_master)
    finally:
        world.server.heal()


def proxy_restarted(world):
    a, b = world.lock(), world.lock()
    ways = extensions(a)

    def extend():
        for way, operation in ways.items():
            world.call(f"A extends by {way}", operation, TTL)

    world.acquire("A", a)
    extend()
    world.server.restart()
    extend()
    world.acquire("B", b, wanted=False)
    world.call("A releases", a.release)
    world.acquire("B", b)
    world.call("B releases", b.release)


def extensions(lock):
    try:
        return lock.extensions()
    except NotOffered:
        return {}


SCENARIOS = {
    function.__name__.replace("_", "-"): function
    for function in (
        acquire_free,
        acquire_held,
        release_own,
        release_other,
        release_after_lapse,
        extend_own,
        extend_after_lapse,
        query_owned,
        lapse_hands_over,
        contention,
        master_killed,
        proxy_restarted,
    )
}
