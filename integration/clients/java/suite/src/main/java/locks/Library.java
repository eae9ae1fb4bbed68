package locks;

import java.time.Duration;

/**
 * A lock library in one of its modes, as its users call it. An adapter adds no
 * behaviour of its own: what a method returns is what the library said.
 */
public interface Library {

    /** The row of the table: the library and, if it matters, the mode. */
    String name();

    String version();

    /** A client of its own, with an identity of its own, as in another process. */
    Client connect(Endpoint at) throws Exception;

    /** The shortest TTL that the library takes. */
    default Duration shortest() {
        return Duration.ofMillis(300);
    }

    /** Whether extending gives the lock its first TTL again, whatever TTL is asked for. */
    default boolean extendsByFirstTtl() {
        return false;
    }

    /** Why it is not run at all, or null. */
    default String missing() {
        return null;
    }

    /** Whether the proxy is meant to refuse the first command, clearly. */
    default boolean refused() {
        return false;
    }

    interface Client extends AutoCloseable {

        /** A lock object with a token of its own; nothing is sent yet. */
        Lock lock(String name, Duration ttl) throws Exception;

        /** A harmless command by way of the driver, to see whether it is connected. */
        void ping() throws Exception;
    }

    interface Lock {

        /** Tries once, without waiting. */
        Answer acquire() throws Exception;

        Answer release() throws Exception;

        default Answer extend(Duration ttl) throws Exception {
            throw new NotOffered("has no call that extends a lock");
        }

        /** All questions that the library answers about the lock, in one line. */
        default String query() throws Exception {
            throw new NotOffered("has no question about a lock");
        }

        /** Waits for the lock in the library's way, if it has one. */
        default Answer acquireWaiting(Duration atMost) throws Exception {
            return acquireAgainAndAgain(atMost);
        }

        default Answer acquireAgainAndAgain(Duration atMost) throws Exception {
            long end = System.nanoTime() + atMost.toNanos();
            while (true) {
                Answer answer = acquire();
                if (answer.yes() || System.nanoTime() > end) {
                    return answer;
                }
                Thread.sleep(Pause.millis());
            }
        }
    }

    /** What the library said, and whether that means yes. */
    record Answer(boolean yes, String said) {

        public static Answer of(boolean result) {
            return new Answer(result, String.valueOf(result));
        }

        /** For a call without a result: it returned. */
        public static Answer done() {
            return new Answer(true, "done");
        }
    }

    /** The library has no such operation. */
    final class NotOffered extends Exception {
        private static final long serialVersionUID = 1;

        public NotOffered(String message) {
            super(message);
        }
    }
}
