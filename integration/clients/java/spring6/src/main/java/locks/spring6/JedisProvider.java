package locks.spring6;

import locks.Library;
import locks.spring.ShedLock;
import net.javacrumbs.shedlock.provider.redis.jedis4.JedisLockProvider;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;

/** ShedLock's provider over a pool of Jedis connections. This version has the default mode only. */
final class JedisProvider {
    private JedisProvider() {}

    static Library shedLock() {
        return new ShedLock("Jedis provider, default mode", JedisLockProvider.class, at -> {
            JedisPool pool = new JedisPool(at.host(), at.port());
            return new ShedLock.Opened(new JedisLockProvider(pool), () -> ping(pool), pool);
        });
    }

    private static void ping(JedisPool pool) {
        try (Jedis jedis = pool.getResource()) {
            jedis.ping();
        }
    }
}
