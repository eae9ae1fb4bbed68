package locks.plain;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import locks.Endpoint;
import locks.Library;
import locks.Versions;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.params.SetParams;

/** Jedis: SET NX PX, and scripts by EVALSHA with EVAL behind it. */
final class JedisPlain implements Library {

    @Override
    public String name() {
        return "Jedis, plain scripts";
    }

    @Override
    public String version() {
        return Versions.of(RedisClient.class);
    }

    @Override
    public Client connect(Endpoint at) {
        return new JedisClient(RedisClient.create(at.host(), at.port()));
    }

    private record JedisClient(RedisClient redis) implements Client {

        @Override
        public Lock lock(String name, Duration ttl) {
            return new JedisLock(redis, name, UUID.randomUUID().toString(), ttl.toMillis());
        }

        @Override
        public void ping() {
            redis.ping();
        }

        @Override
        public void close() {
            redis.close();
        }
    }

    private record JedisLock(RedisClient redis, String key, String token, long ttl) implements Lock {

        @Override
        public Answer acquire() {
            String reply = redis.set(key, token, SetParams.setParams().nx().px(ttl));
            return new Answer("OK".equals(reply), String.valueOf(reply));
        }

        @Override
        public Answer release() {
            return one(run(Scripts.RELEASE, List.of(token)));
        }

        @Override
        public Answer extend(Duration ttl) {
            return one(run(Scripts.EXTEND, List.of(token, String.valueOf(ttl.toMillis()))));
        }

        @Override
        public String query() {
            return "mine " + token.equals(redis.get(key)) + ", exists " + redis.exists(key)
                    + ", seconds left " + Math.round(redis.pttl(key) / 1000.0);
        }

        private Object run(String script, List<String> args) {
            try {
                return redis.evalsha(Sha1.of(script), List.of(key), args);
            } catch (JedisNoScriptException e) {
                return redis.eval(script, List.of(key), args);
            }
        }

        private static Answer one(Object reply) {
            return new Answer(Long.valueOf(1).equals(reply), String.valueOf(reply));
        }
    }
}
