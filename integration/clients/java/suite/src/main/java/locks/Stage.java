package locks;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/** One run of a scenario against one server: its lock name, its callers, what they saw. */
final class Stage implements AutoCloseable {
    static final Duration LONG = Duration.ofSeconds(10);

    /** The first TTL of a lock that is extended: a slow machine must do that within it. */
    static final Duration EXTENDED = Duration.ofMillis(1500);

    /** A server looks at its clock once per turn of its loop. */
    static final Duration CLOCK_STEP = Duration.ofMillis(10);

    final Library library;
    final Endpoint at;
    final Control control;
    final String name = "lock:" + UUID.randomUUID();
    final Transcript seen = new Transcript(name);
    private final Map<String, Library.Client> clients = new HashMap<>();

    Stage(Library library, Endpoint at, Control control) {
        this.library = library;
        this.at = at;
        this.control = control;
    }

    Library.Lock lock(String who) throws Exception {
        return client(who).lock(name, LONG);
    }

    /** A lock that is meant to lapse. */
    Library.Lock shortLock(String who) throws Exception {
        return client(who).lock(name, library.shortest());
    }

    synchronized Library.Client client(String who) throws Exception {
        Library.Client client = clients.get(who);
        if (client == null) {
            client = library.connect(at);
            clients.put(who, client);
        }
        return client;
    }

    /** Waits until a short TTL is over. */
    void lapse() throws InterruptedException {
        outlive(library.shortest());
    }

    /** Waits until a TTL is over, on every clock. */
    static void outlive(Duration ttl) throws InterruptedException {
        Thread.sleep(ttl.plusMillis(200).toMillis());
    }

    void extendIfOffered(String who, Library.Lock lock) {
        try {
            seen.expect(true, who, () -> lock.extend(LONG));
        } catch (Library.NotOffered e) {
            // then only the release shows whether the lock is still its owner's
        }
    }

    /** Lets the driver notice that its connection is gone, with nothing of the lock library. */
    void reconnect(String who) throws Exception {
        long end = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (true) {
            try {
                client(who).ping();
                return;
            } catch (Exception e) {
                if (System.nanoTime() > end) {
                    throw e;
                }
                Thread.sleep(20);
            }
        }
    }

    @Override
    public void close() throws Exception {
        for (Library.Client client : clients.values()) {
            client.close();
        }
    }
}
