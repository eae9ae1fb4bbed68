package locks.spring;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import locks.Endpoint;
import locks.Library;
import locks.Versions;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/** Spring Integration's RedisLockRegistry. The registry, not the lock, has the token and the TTL. */
public final class SpringIntegration implements Library {
    private final RedisLockType type;
    private final Connections connections;

    public SpringIntegration(RedisLockType type, Connections connections) {
        this.type = type;
        this.connections = connections;
    }

    @Override
    public String name() {
        String mode = type == RedisLockType.SPIN_LOCK ? "spin" : "pub/sub";
        return "Spring Integration RedisLockRegistry (" + mode + ", " + connections.title() + ")";
    }

    @Override
    public String version() {
        return Versions.of(RedisLockRegistry.class);
    }

    @Override
    public boolean extendsByFirstTtl() {
        return true;
    }

    @Override
    public Client connect(Endpoint at) {
        return new Process(connections.open(at));
    }

    private final class Process implements Client {
        private final RedisConnectionFactory factory;
        private final Map<Duration, RedisLockRegistry> registries = new HashMap<>();

        Process(RedisConnectionFactory factory) {
            this.factory = factory;
        }

        @Override
        public Lock lock(String name, Duration ttl) {
            RedisLockRegistry registry = registries.computeIfAbsent(ttl, this::registry);
            return new RegistryLock(registry, registry.obtain(name), name);
        }

        private RedisLockRegistry registry(Duration ttl) {
            RedisLockRegistry registry = new RedisLockRegistry(factory, "registry", ttl.toMillis());
            registry.setRedisLockType(type);
            if (type == RedisLockType.SPIN_LOCK) {
                registry.setIdleBetweenTries(Duration.ofMillis(10));
            }
            return registry;
        }

        @Override
        public void ping() {
            Connections.ping(factory);
        }

        @Override
        public void close() {
            registries.values().forEach(RedisLockRegistry::destroy);
            connections.close(factory);
        }
    }

    private record RegistryLock(RedisLockRegistry registry, java.util.concurrent.locks.Lock lock, String name) implements Lock {

        @Override
        public Answer acquire() {
            return Answer.of(lock.tryLock());
        }

        @Override
        public Answer acquireWaiting(Duration atMost) throws InterruptedException {
            return Answer.of(lock.tryLock(atMost.toMillis(), TimeUnit.MILLISECONDS));
        }

        @Override
        public Answer release() {
            lock.unlock();
            return Answer.done();
        }

        @Override
        public Answer extend(Duration ttl) {
            registry.renewLock(name);
            return Answer.done();
        }
    }
}
