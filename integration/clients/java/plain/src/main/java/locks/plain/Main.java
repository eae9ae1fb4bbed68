package locks.plain;

import java.util.List;
import locks.Suite;

/** Drivers without a lock library, and Redisson. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        Suite.run(List.of(new JedisPlain(), new LettucePlain(), new RedissonRLock()));
    }
}
