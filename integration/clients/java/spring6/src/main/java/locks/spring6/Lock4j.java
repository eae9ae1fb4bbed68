package locks.spring6;

import com.baomidou.lock.executor.RedisTemplateLockExecutor;
import com.baomidou.lock.spring.boot.autoconfigure.Lock4jProperties;
import java.time.Duration;
import java.util.UUID;
import locks.Endpoint;
import locks.Library;
import locks.Versions;
import locks.spring.Connections;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/** lock4j's executor over Spring Data Redis. */
final class Lock4j implements Library {

    @Override
    public String name() {
        return "lock4j (RedisTemplate)";
    }

    @Override
    public String version() {
        return Versions.of(RedisTemplateLockExecutor.class);
    }

    @Override
    public Client connect(Endpoint at) {
        RedisConnectionFactory factory = Connections.LETTUCE.open(at);
        StringRedisTemplate template = new StringRedisTemplate(factory);
        return new Lock4jClient(factory, new RedisTemplateLockExecutor(template, new Lock4jProperties()));
    }

    private record Lock4jClient(RedisConnectionFactory factory, RedisTemplateLockExecutor executor) implements Client {

        @Override
        public Lock lock(String name, Duration ttl) {
            return new Lock4jLock(executor, name, UUID.randomUUID().toString(), ttl.toMillis());
        }

        @Override
        public void ping() {
            Connections.ping(factory);
        }

        @Override
        public void close() {
            Connections.LETTUCE.close(factory);
        }
    }

    private record Lock4jLock(RedisTemplateLockExecutor executor, String name, String token, long ttl) implements Lock {

        @Override
        public Answer acquire() {
            String got = executor.acquire(name, token, ttl, 0);
            return new Answer(got != null, got == null ? "null" : "its token");
        }

        @Override
        public Answer release() {
            return Answer.of(executor.releaseLock(name, token, token));
        }

        @Override
        public Answer extend(Duration ttl) throws NotOffered {
            throw new NotOffered("extends by its own timer only");
        }
    }
}
