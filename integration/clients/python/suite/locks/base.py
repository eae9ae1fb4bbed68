"""What the scenarios need of a lock library."""

import asyncio
import random
import threading
import time

TTL = 10  # seconds, of a lock that is not to lapse
SHORT_TTL = 0.3  # seconds, of one that is
SOCKET_TIMEOUT = 10  # seconds; without one a proxy that hangs would hang the suite


class NotOffered(Exception):
    """The library has no such operation."""


class Lock:
    """One lock object of a library, with a client and a token of its own.

    The methods return what the library returns and raise what it raises, but
    for tokens and times, which differ from run to run.
    """

    library = ""
    package = ""  # whose version is told
    short_ttl = SHORT_TTL  # the library's smallest unit may be larger
    held_by_another = ()  # exceptions by which acquire says so

    def __init__(self, server, name, ttl):
        """ttl is in seconds."""
        self.name = name
        self.ttl = ttl

    @property
    def key(self):
        """Where the server keeps the lock."""
        return self.name

    def acquire(self):
        """Try once."""
        raise NotImplementedError

    def won(self, outcome):
        """Whether the outcome of acquire means that the lock is held now."""
        return outcome.error is None and bool(outcome.value)

    def wait(self, seconds):
        """Acquire, waiting. A library's own waiting is used if its pause is short."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                answer = self.acquire()
            except self.held_by_another:
                answer = False
            if answer is not False:
                return answer
            time.sleep(random.uniform(0.005, 0.02))
        return False

    def release(self):
        raise NotOffered("no release")

    def extensions(self):
        """The ways to extend, by name; each takes the seconds that shall be left."""
        raise NotOffered("no extend")

    def queries(self):
        """The questions that can be asked of a lock, by name."""
        raise NotOffered("no query")

    def close(self):
        """Close the client."""


def tenths(part, whole):
    """A time as tenths of another, so that it can be compared."""
    return f"{round(10 * part / whole)}/10"


class Loop:
    """An event loop in a thread of its own, as an application has one."""

    def __init__(self):
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, method, *args, **options):
        """Call a method that returns an awaitable, and await it, in the loop.

        Some look at thread-local data when called, some when awaited."""

        async def call():
            return await method(*args, **options)

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()
