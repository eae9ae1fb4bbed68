package locks.plain;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.resource.ClientResources;
import java.time.Duration;
import java.util.UUID;
import locks.Endpoint;
import locks.Library;
import locks.Versions;

/** Lettuce: SET PX NX, and scripts by EVALSHA with EVAL behind it. */
final class LettucePlain implements Library {
    private final ClientResources threads = ClientResources.create();

    @Override
    public String name() {
        return "Lettuce, plain scripts";
    }

    @Override
    public String version() {
        return Versions.of(RedisClient.class);
    }

    @Override
    public Client connect(Endpoint at) {
        RedisClient client = RedisClient.create(threads, "redis://" + at.host() + ":" + at.port());
        return new LettuceClient(client, client.connect());
    }

    private record LettuceClient(RedisClient client, StatefulRedisConnection<String, String> connection) implements Client {

        @Override
        public Lock lock(String name, Duration ttl) {
            return new LettuceLock(connection.sync(), name, UUID.randomUUID().toString(), ttl.toMillis());
        }

        @Override
        public void ping() {
            connection.sync().ping();
        }

        @Override
        public void close() {
            connection.close();
            client.shutdown();
        }
    }

    private record LettuceLock(RedisCommands<String, String> redis, String key, String token, long ttl) implements Lock {

        @Override
        public Answer acquire() {
            String reply = redis.set(key, token, SetArgs.Builder.nx().px(ttl));
            return new Answer("OK".equals(reply), String.valueOf(reply));
        }

        @Override
        public Answer release() {
            return one(run(Scripts.RELEASE, token));
        }

        @Override
        public Answer extend(Duration ttl) {
            return one(run(Scripts.EXTEND, token, String.valueOf(ttl.toMillis())));
        }

        @Override
        public String query() {
            return "mine " + token.equals(redis.get(key)) + ", exists " + redis.exists(key)
                    + ", seconds left " + Math.round(redis.pttl(key) / 1000.0);
        }

        private Long run(String script, String... args) {
            String[] keys = {key};
            try {
                return redis.evalsha(Sha1.of(script), ScriptOutputType.INTEGER, keys, args);
            } catch (RedisNoScriptException e) {
                return redis.eval(script, ScriptOutputType.INTEGER, keys, args);
            }
        }

        private static Answer one(Long reply) {
            return new Answer(Long.valueOf(1).equals(reply), String.valueOf(reply));
        }
    }
}
