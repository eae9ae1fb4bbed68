package locks.spring6;

import com.alicp.jetcache.AutoReleaseLock;
import com.alicp.jetcache.Cache;
import com.alicp.jetcache.redis.RedisCache;
import com.alicp.jetcache.redis.RedisCacheBuilder;
import com.alicp.jetcache.support.JavaValueDecoder;
import com.alicp.jetcache.support.JavaValueEncoder;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import locks.Endpoint;
import locks.Library;
import locks.Versions;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.UnifiedJedis;

/** jetcache's tryLock, over Jedis. */
final class JetCache implements Library {

    @Override
    public String name() {
        return "jetcache tryLock (Jedis)";
    }

    @Override
    public String version() {
        return Versions.of(RedisCache.class);
    }

    @Override
    public Client connect(Endpoint at) {
        UnifiedJedis jedis = new JedisPooled(at.host(), at.port());
        Cache<String, String> cache = RedisCacheBuilder.createRedisCacheBuilder()
                .keyConvertor(Function.identity())
                .valueEncoder(JavaValueEncoder.INSTANCE)
                .valueDecoder(JavaValueDecoder.INSTANCE)
                .jedis(jedis)
                .keyPrefix("jetcache:")
                .buildCache();
        return new JetCacheClient(jedis, cache);
    }

    private record JetCacheClient(UnifiedJedis jedis, Cache<String, String> cache) implements Client {

        @Override
        public Lock lock(String name, Duration ttl) {
            return new JetCacheLock(cache, name, ttl);
        }

        @Override
        public void ping() {
            jedis.ping();
        }

        @Override
        public void close() {
            cache.close();
            jedis.close();
        }
    }

    private static final class JetCacheLock implements Lock {
        private final Cache<String, String> cache;
        private final String name;
        private final Duration ttl;
        private AutoReleaseLock held;

        JetCacheLock(Cache<String, String> cache, String name, Duration ttl) {
            this.cache = cache;
            this.name = name;
            this.ttl = ttl;
        }

        @Override
        public Answer acquire() {
            AutoReleaseLock got = cache.tryLock(name, ttl.toMillis(), TimeUnit.MILLISECONDS);
            if (got != null) {
                held = got;
            }
            return new Answer(got != null, got == null ? "null" : "an AutoReleaseLock");
        }

        @Override
        public Answer release() {
            held.close();
            return Answer.done();
        }
    }
}
