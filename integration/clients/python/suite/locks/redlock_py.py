"""redlock-py, told that the server is its only master."""

from redlock import Redlock

from .base import SOCKET_TIMEOUT, Lock


class RedlockPyLock(Lock):
    """release returns nothing, whatever happens: errors are only logged."""

    library = "redlock-py"
    package = "redlock-py"

    def __init__(self, server, name, ttl):
        super().__init__(server, name, ttl)
        address = {"host": server.host, "port": server.port, "socket_timeout": SOCKET_TIMEOUT}
        self.manager = Redlock([address], retry_count=1, retry_delay=0.001)
        self.lock = None

    def acquire(self):
        lock = self.manager.lock(self.name, int(self.ttl * 1000))
        if not lock:
            return lock
        self.lock = lock
        return f"Lock, validity above 0: {lock.validity > 0}"

    def release(self):
        return self.manager.unlock(self.lock)

    def close(self):
        for client in self.manager.servers:
            client.close()


LOCKS = [RedlockPyLock]
