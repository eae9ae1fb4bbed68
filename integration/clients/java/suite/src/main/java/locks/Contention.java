package locks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** Callers, with a client each, take turns at one lock. */
final class Contention {
    private final Stage stage;
    private final int callers;
    private final int rounds;
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger overlaps = new AtomicInteger();
    private final AtomicInteger done = new AtomicInteger();
    private final AtomicBoolean happened = new AtomicBoolean();
    private final Set<String> failures = new ConcurrentSkipListSet<>();

    /** Something done once, by the caller that ends a third of all rounds. */
    interface Event {
        void happen() throws Exception;
    }

    Contention(Stage stage, int callers, int rounds) {
        this.stage = stage;
        this.callers = callers;
        this.rounds = rounds;
    }

    void run(Event event) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(callers);
        try {
            List<Callable<Void>> tasks = new ArrayList<>();
            for (int i = 0; i < callers; i++) {
                Library.Client client = stage.client("caller " + i);
                tasks.add(() -> turns(client, event));
            }
            for (Future<Void> task : threads.invokeAll(tasks)) {
                task.get();
            }
        } finally {
            threads.shutdownNow();
        }
        stage.seen.add("rounds done:", String.valueOf(done));
        stage.seen.add("overlaps:", String.valueOf(overlaps));
        if (done.get() != callers * rounds || overlaps.get() != 0 || !failures.isEmpty()) {
            stage.seen.fault("failed: " + failures);
        }
    }

    private Void turns(Library.Client client, Event event) throws Exception {
        for (int i = 0; i < rounds; i++) {
            try {
                turn(client);
            } catch (Exception e) {
                failures.add(Transcript.describe(e));
            }
            if (done.get() >= callers * rounds / 3 && happened.compareAndSet(false, true)) {
                event.happen();
            }
        }
        return null;
    }

    private void turn(Library.Client client) throws Exception {
        Library.Lock lock = client.lock(stage.name, Stage.LONG);
        Library.Answer got = lock.acquireWaiting(Duration.ofSeconds(30));
        if (!got.yes()) {
            failures.add("acquire: " + got.said());
            return;
        }
        if (inside.incrementAndGet() != 1) {
            overlaps.incrementAndGet();
        }
        Thread.sleep(1); // long enough for another caller to come in, if it may
        inside.decrementAndGet();
        Library.Answer left = lock.release();
        if (!left.yes()) {
            failures.add("release: " + left.said());
            return;
        }
        done.incrementAndGet();
    }
}
