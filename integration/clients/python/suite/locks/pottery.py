"""pottery's Redlock, told that the server is its only master."""

import redis
from pottery import Redlock

from .base import SOCKET_TIMEOUT, Lock, tenths


class PotteryLock(Lock):
    """Waits in the scenario's way: its own pauses take up to 0.2 s."""

    library = "pottery Redlock"
    package = "pottery"

    def __init__(self, server, name, ttl):
        super().__init__(server, name, ttl)
        self.client = redis.Redis(server.host, server.port, socket_timeout=SOCKET_TIMEOUT)
        # Without raise_on_redis_errors an error of the server would look like "held".
        self.lock = Redlock(key=name, masters={self.client}, auto_release_time=ttl, raise_on_redis_errors=True)

    @property
    def key(self):
        return f"redlock:{self.name}"

    def acquire(self):
        return self.lock.acquire(blocking=False)

    def release(self):
        return self.lock.release()

    def extensions(self):
        return {"extend": self.extend}

    def extend(self, seconds):
        self.lock.auto_release_time = seconds
        return self.lock.extend()

    def queries(self):
        return {"locked": lambda: tenths(self.lock.locked(), self.ttl)}

    def close(self):
        self.client.close()


LOCKS = [PotteryLock]
