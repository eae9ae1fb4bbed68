package locks.spring7;

import java.util.List;
import locks.Missing;
import locks.Suite;
import locks.spring.Connections;
import locks.spring.SpringIntegration;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/** Lock libraries of the Spring 7 generation. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        Suite.run(List.of(
                new SpringIntegration(RedisLockType.SPIN_LOCK, Connections.LETTUCE),
                new SpringIntegration(RedisLockType.SPIN_LOCK, Connections.JEDIS),
                new SpringIntegration(RedisLockType.PUB_SUB_LOCK, Connections.LETTUCE),
                SpringProvider.shedLock(Connections.LETTUCE, true),
                SpringProvider.shedLock(Connections.LETTUCE, false),
                SpringProvider.shedLock(Connections.JEDIS, true),
                new Missing("ShedLock (Lettuce provider)", "7", "no version of shedlock-provider-redis-lettuce was in the registry")));
    }
}
