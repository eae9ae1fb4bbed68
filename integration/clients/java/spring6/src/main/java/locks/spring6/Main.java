package locks.spring6;

import java.util.List;
import locks.Suite;
import locks.spring.Connections;
import locks.spring.SpringIntegration;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/** Lock libraries of the Spring 6 generation, and those that go with its drivers. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        Suite.run(List.of(
                new SpringIntegration(RedisLockType.SPIN_LOCK, Connections.LETTUCE),
                new SpringIntegration(RedisLockType.PUB_SUB_LOCK, Connections.LETTUCE),
                JedisProvider.shedLock(),
                new JetCache(),
                new Lock4j()));
    }
}
