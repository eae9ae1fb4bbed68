"""aioredlock, told that the server is its only master."""

from aioredlock import Aioredlock
from aioredlock.errors import LockAcquiringError

from .base import Lock, Loop, tenths


class AioredlockLock(Lock):
    library = "aioredlock"
    package = "aioredlock"
    held_by_another = (LockAcquiringError,)
    loop = Loop()

    def __init__(self, server, name, ttl):
        super().__init__(server, name, ttl)
        address = {"host": server.host, "port": server.port}
        self.manager = Aioredlock([address], retry_count=1)
        self.lock = None

    def acquire(self):
        self.lock = self.loop.run(self.manager.lock, self.name, lock_timeout=self.ttl)
        return f"Lock, valid={self.lock.valid}"

    def release(self):
        return self.loop.run(self.manager.unlock, self.lock)

    def extensions(self):
        return {"extend": lambda seconds: self.loop.run(self.manager.extend, self.lock, seconds)}

    def queries(self):
        return {
            "is_locked": lambda: self.loop.run(self.manager.is_locked, self.name),
            "get_lock": self.get_lock,
        }

    def get_lock(self):
        identifier = self.lock.id if self.lock else "none yet"
        found = self.loop.run(self.manager.get_lock, self.name, identifier)
        return f"Lock, {tenths(found.lock_timeout, self.ttl)} left"

    def close(self):
        self.loop.run(self.manager.redis.clear_connections)


LOCKS = [AioredlockLock]
