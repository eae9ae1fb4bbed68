package locks.plain;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import locks.Endpoint;
import locks.Library;
import locks.Versions;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's RLock is a hash with a count; no quorum of strings can be one. */
final class RedissonRLock implements Library {

    @Override
    public String name() {
        return "Redisson RLock";
    }

    @Override
    public String version() {
        return Versions.of(Redisson.class);
    }

    @Override
    public boolean refused() {
        return true;
    }

    @Override
    public Client connect(Endpoint at) {
        Config config = new Config();
        config.setThreads(2).setNettyThreads(2);
        config.useSingleServer()
                .setAddress("redis://" + at.host() + ":" + at.port())
                .setConnectionMinimumIdleSize(1)
                .setRetryAttempts(0);
        return new RedissonCaller(Redisson.create(config));
    }

    private record RedissonCaller(RedissonClient redisson) implements Client {

        @Override
        public Lock lock(String name, Duration ttl) {
            return new RedissonLock(redisson.getLock(name), ttl);
        }

        @Override
        public void ping() {
            redisson.getKeys().count();
        }

        @Override
        public void close() {
            redisson.shutdown(Duration.ZERO.toMillis(), Duration.ofSeconds(5).toMillis(), TimeUnit.MILLISECONDS);
        }
    }

    private record RedissonLock(RLock lock, Duration ttl) implements Lock {

        @Override
        public Answer acquire() throws Exception {
            return Answer.of(lock.tryLock(0, ttl.toMillis(), TimeUnit.MILLISECONDS));
        }

        @Override
        public Answer release() {
            lock.unlock();
            return Answer.done();
        }
    }
}
