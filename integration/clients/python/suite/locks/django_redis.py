"""django-redis: cache.lock, which hands out redis-py's Lock."""

from django.conf import settings
from django_redis.cache import RedisCache

from .base import SOCKET_TIMEOUT
from .redis_py import PAUSE, SyncLock

settings.configure()


class DjangoLock(SyncLock):
    library = "django-redis cache.lock"
    package = "django-redis"

    def make(self, server, name, ttl):
        self.cache = RedisCache(
            f"redis://{server.host}:{server.port}/0",
            {"OPTIONS": {"SOCKET_TIMEOUT": SOCKET_TIMEOUT}},
        )
        return self.cache.lock(name, timeout=ttl, sleep=PAUSE)

    @property
    def key(self):
        return self.cache.make_key(self.name)

    def close(self):
        """The clients of one address share their connections: they stay open."""


LOCKS = [DjangoLock]
