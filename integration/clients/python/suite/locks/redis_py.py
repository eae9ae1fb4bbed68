"""redis-py's own Lock, with both of its clients."""

import redis
import redis.asyncio

from .base import SOCKET_TIMEOUT, Lock, Loop

PAUSE = 0.01  # seconds between two tries of a waiting Lock


class SyncLock(Lock):
    library = "redis-py Lock (sync)"
    package = "redis"

    def __init__(self, server, name, ttl):
        super().__init__(server, name, ttl)
        self.lock = self.make(server, name, ttl)

    def make(self, server, name, ttl):
        self.client = redis.Redis(server.host, server.port, socket_timeout=SOCKET_TIMEOUT)
        return self.client.lock(name, timeout=ttl, sleep=PAUSE)

    def run(self, method, *args, **options):
        """Call a method that the asynchronous client has as a coroutine."""
        return method(*args, **options)

    def acquire(self):
        return self.run(self.lock.acquire, blocking=False)

    def wait(self, seconds):
        return self.run(self.lock.acquire, blocking=True, blocking_timeout=seconds)

    def release(self):
        return self.run(self.lock.release)

    def extensions(self):
        return {
            "extend": lambda seconds: self.run(self.lock.extend, seconds),
            "extend(replace_ttl)": lambda seconds: self.run(self.lock.extend, seconds, replace_ttl=True),
            "reacquire": self.reacquire,
        }

    def reacquire(self, seconds):
        self.lock.timeout = seconds
        return self.run(self.lock.reacquire)

    def queries(self):
        return {
            "locked": lambda: self.run(self.lock.locked),
            "owned": lambda: self.run(self.lock.owned),
        }

    def close(self):
        self.client.close()


class AsyncLock(SyncLock):
    library = "redis-py Lock (asyncio)"
    loop = Loop()

    def make(self, server, name, ttl):
        self.client = redis.asyncio.Redis(host=server.host, port=server.port, socket_timeout=SOCKET_TIMEOUT)
        return self.client.lock(name, timeout=ttl, sleep=PAUSE)

    def run(self, method, *args, **options):
        return self.loop.run(method, *args, **options)

    def close(self):
        self.run(getattr(self.client, "aclose", self.client.close))  # close before 5.0.1


LOCKS = [SyncLock, AsyncLock]
