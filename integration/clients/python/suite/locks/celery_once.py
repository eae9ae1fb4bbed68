"""celery-once's Redis backend: a lock that anybody may clear."""

from celery_once import AlreadyQueued
from celery_once.backends import redis as backend

from .base import SOCKET_TIMEOUT, Lock, tenths


class CeleryOnceLock(Lock):
    library = "celery-once Redis backend"
    package = "celery-once"
    held_by_another = (AlreadyQueued,)

    def __init__(self, server, name, ttl):
        super().__init__(server, name, ttl)
        backend.redis = None  # it keeps one client per process, whatever the URL
        url = f"redis://{server.host}:{server.port}/0?socket_timeout={SOCKET_TIMEOUT}"
        self.backend = backend.Redis({"url": url})

    def acquire(self):
        try:
            return self.backend.raise_or_lock(self.name, self.ttl)
        except AlreadyQueued as error:
            raise AlreadyQueued(tenths(error.countdown, self.ttl)) from error

    def won(self, outcome):
        return outcome.error is None

    def release(self):
        return self.backend.clear_lock(self.name)

    def close(self):
        self.backend.redis.close()


LOCKS = [CeleryOnceLock]
