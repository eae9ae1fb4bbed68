"""python-redis-lock, without its waiting, which needs a list to block on."""

import redis
import redis_lock

from .base import SOCKET_TIMEOUT, Lock


class PythonRedisLock(Lock):
    library = "python-redis-lock (non-blocking)"
    package = "python-redis-lock"
    short_ttl = 1  # it takes whole seconds only

    def __init__(self, server, name, ttl):
        super().__init__(server, name, ttl)
        self.client = redis.Redis(server.host, server.port, socket_timeout=SOCKET_TIMEOUT)
        self.lock = redis_lock.Lock(self.client, name, expire=ttl)

    @property
    def key(self):
        return f"lock:{self.name}"

    def acquire(self):
        return self.lock.acquire(blocking=False)

    def release(self):
        return self.lock.release()

    def extensions(self):
        return {"extend": lambda seconds: self.lock.extend(expire=seconds)}

    def queries(self):
        return {"locked": self.lock.locked, "get_owner_id": self.owner}

    def owner(self):
        owner = self.lock.get_owner_id()
        return {None: "nobody", self.lock.id: "itself"}.get(owner, "another")

    def close(self):
        self.client.close()


LOCKS = [PythonRedisLock]
