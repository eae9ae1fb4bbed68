package locks.spring7;

import locks.Library;
import locks.spring.Connections;
import locks.spring.ShedLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** ShedLock's provider over Spring Data Redis. */
final class SpringProvider {
    private SpringProvider() {}

    static Library shedLock(Connections connections, boolean safe) {
        String mode = safe ? "safeUpdate" : "default mode";
        return new ShedLock("Spring provider, " + mode + ", " + connections.title(), RedisLockProvider.class, at -> {
            RedisConnectionFactory factory = connections.open(at);
            return new ShedLock.Opened(
                    new RedisLockProvider.Builder(factory).safeUpdate(safe).build(),
                    () -> Connections.ping(factory),
                    () -> connections.close(factory));
        });
    }
}
