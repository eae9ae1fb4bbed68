package locks;

import java.util.concurrent.ThreadLocalRandom;

/** The retry delay of those who wait: different for each, so that they do not retry in step. */
public final class Pause {
    private Pause() {}

    public static long millis() {
        return ThreadLocalRandom.current().nextLong(5, 21);
    }
}
