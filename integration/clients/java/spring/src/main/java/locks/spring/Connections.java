package locks.spring;

import locks.Endpoint;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** The drivers below Spring Data Redis. */
public enum Connections {
    LETTUCE {
        @Override
        public RedisConnectionFactory open(Endpoint at) {
            LettuceConnectionFactory factory = new LettuceConnectionFactory(server(at));
            factory.afterPropertiesSet();
            factory.start();
            return factory;
        }

        @Override
        public void close(RedisConnectionFactory factory) {
            ((LettuceConnectionFactory) factory).destroy();
        }

        @Override
        public String title() {
            return "Lettuce";
        }
    },
    JEDIS {
        @Override
        public RedisConnectionFactory open(Endpoint at) {
            JedisConnectionFactory factory = new JedisConnectionFactory(server(at));
            factory.afterPropertiesSet();
            factory.start();
            return factory;
        }

        @Override
        public void close(RedisConnectionFactory factory) {
            ((JedisConnectionFactory) factory).destroy();
        }

        @Override
        public String title() {
            return "Jedis";
        }
    };

    public abstract RedisConnectionFactory open(Endpoint at);

    public abstract void close(RedisConnectionFactory factory);

    public abstract String title();

    public static void ping(RedisConnectionFactory factory) {
        try (RedisConnection connection = factory.getConnection()) {
            connection.ping();
        }
    }

    private static RedisStandaloneConfiguration server(Endpoint at) {
        return new RedisStandaloneConfiguration(at.host(), at.port());
    }
}
