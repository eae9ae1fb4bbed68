"""What a scenario acts in: it makes lock objects on one server and notes what
their caller sees."""

import re
import secrets
import time
from dataclasses import dataclass

from .locks.base import TTL, NotOffered

# The proxy names itself where it refuses by design. No other error does.
REFUSAL = "redlock-proxy"


@dataclass
class Outcome:
    """What a call of a library came to."""

    value: object = None
    error: Exception | None = None

    def refusal(self):
        """The proxy's own words if it refused by design, wrapped or not."""
        error = self.error
        while error is not None:
            if REFUSAL in str(error):
                return str(error)
            error = error.__cause__ or error.__context__
        return ""


class World:
    """One run of one scenario with one library on one server."""

    def __init__(self, server, kind):
        self.server = server
        self.kind = kind
        self.name = f"clients-python-{secrets.token_hex(8)}"
        self.notes = []  # what was seen, in order
        self.wrong = False  # something was not what the scenario asks for
        self.refusal = ""  # the first refusal by design
        self.locks = []

    @property
    def short_ttl(self):
        return self.kind.short_ttl

    def lock(self, ttl=TTL, part=""):
        """A new lock object. Those with the same part contend for one lock."""
        lock = self.kind(self.server, self.name + part, ttl)
        self.locks.append(lock)
        return lock

    def close(self):
        for lock in self.locks:
            lock.close()

    def note(self, what, seen):
        self.notes.append(f"{what}: {seen}")

    def want(self, what, seen, wanted):
        """Note what was seen; anything but what is wanted is wrong."""
        self.note(what, seen)
        if seen != wanted:
            self.wrong = True
            self.notes[-1] += f" (not {wanted})"

    def call(self, what, operation, *args):
        """Call a library and note what its caller sees."""
        try:
            outcome = Outcome(value=operation(*args))
        except NotOffered:
            raise
        except Exception as error:
            outcome = Outcome(error=error)
        self.note(what, self.words(outcome))
        return outcome

    def words(self, outcome):
        """An outcome without random names and addresses of objects."""
        if outcome.error is None:
            return repr(outcome.value)
        self.refusal = self.refusal or self.anonymous(outcome.refusal())
        return self.anonymous(f"{type(outcome.error).__name__}: {outcome.error}")

    def anonymous(self, text):
        return re.sub("<.*>", "<…>", text.replace(self.name, "NAME"))

    def acquire(self, who, lock, wanted=True):
        """Try to acquire, which is wanted to succeed or to be refused."""
        outcome = self.call(f"{who} acquires", lock.acquire)
        if lock.won(outcome) != wanted:
            self.wrong = True
            self.notes[-1] += " (not acquired)" if wanted else " (not refused)"

    def look(self, lock):
        """Note whether the lock's key is there and how long it is to live."""
        left = self.server.raw.pttl(lock.key)
        self.note("key", {-2: "absent", -1: "no TTL"}.get(left, f"{round(left / 1000)} s left"))

    def lapse(self, lock):
        """Wait until the lock is over."""
        end = time.monotonic() + lock.ttl + 2
        while self.server.raw.exists(lock.key) and time.monotonic() < end:
            time.sleep(0.01)
        self.want("lapsed", not self.server.raw.exists(lock.key), True)
