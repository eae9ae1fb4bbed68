package locks.spring;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import locks.Endpoint;
import locks.Library;
import locks.Versions;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;

/** ShedLock over any of its providers. */
public final class ShedLock implements Library {
    private final String provider;
    private final Class<?> versioned;
    private final Opener opener;

    /** What is opened for a caller. */
    public record Opened(LockProvider provider, Ping ping, AutoCloseable closing) {}

    public interface Ping {
        void run() throws Exception;
    }

    public interface Opener {
        Opened open(Endpoint at) throws Exception;
    }

    public ShedLock(String provider, Class<?> versioned, Opener opener) {
        this.provider = provider;
        this.versioned = versioned;
        this.opener = opener;
    }

    @Override
    public String name() {
        return "ShedLock (" + provider + ")";
    }

    @Override
    public String version() {
        return Versions.of(versioned);
    }

    @Override
    public Client connect(Endpoint at) throws Exception {
        return new ShedClient(opener.open(at));
    }

    private record ShedClient(Opened opened) implements Client {

        @Override
        public Lock lock(String name, Duration ttl) {
            return new ShedSimpleLock(opened.provider(), name, ttl);
        }

        @Override
        public void ping() throws Exception {
            opened.ping().run();
        }

        @Override
        public void close() throws Exception {
            opened.closing().close();
        }
    }

    private static final class ShedSimpleLock implements Lock {
        private final LockProvider provider;
        private final String name;
        private final Duration ttl;
        private SimpleLock held;

        ShedSimpleLock(LockProvider provider, String name, Duration ttl) {
            this.provider = provider;
            this.name = name;
            this.ttl = ttl;
        }

        @Override
        public Answer acquire() {
            LockConfiguration configuration = new LockConfiguration(Instant.now(), name, ttl, Duration.ZERO);
            return keep(provider.lock(configuration));
        }

        @Override
        public Answer release() {
            held.unlock();
            return Answer.done();
        }

        @Override
        public Answer extend(Duration ttl) {
            return keep(held.extend(ttl, Duration.ZERO));
        }

        private Answer keep(Optional<SimpleLock> got) {
            got.ifPresent(lock -> held = lock);
            return new Answer(got.isPresent(), got.isPresent() ? "a SimpleLock" : "empty");
        }
    }
}
