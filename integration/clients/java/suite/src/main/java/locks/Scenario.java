package locks;

import java.time.Duration;

/** The scenarios, as ../README.md describes them. */
enum Scenario {
    ACQUIRE_FREE {
        @Override
        void run(Stage s) throws Exception {
            s.seen.expect(true, "A acquires:", s.lock("A")::acquire);
            s.seen.expect(true, "a TTL is set:", () -> Library.Answer.of(Raw.hasTtl(s.at, s.name)));
        }
    },
    ACQUIRE_HELD {
        @Override
        void run(Stage s) throws Exception {
            s.seen.expect(true, "A acquires:", s.lock("A")::acquire);
            s.seen.expect(false, "B acquires:", s.lock("B")::acquire);
        }
    },
    RELEASE_OWN {
        @Override
        void run(Stage s) throws Exception {
            Library.Lock a = s.lock("A");
            s.seen.expect(true, "A acquires:", a::acquire);
            s.seen.expect(true, "A releases:", a::release);
            s.seen.expect(true, "B acquires:", s.lock("B")::acquire);
        }
    },
    /** A lock object learns that it is not the owner by losing it: A's TTL passes, B acquires. */
    RELEASE_OTHER {
        @Override
        void run(Stage s) throws Exception {
            Library.Lock a = s.shortLock("A");
            s.seen.expect(true, "A acquires:", a::acquire);
            s.lapse();
            s.seen.expect(true, "B acquires:", s.lock("B")::acquire);
            s.seen.note("A releases:", a::release);
            s.seen.note("C acquires:", s.lock("C")::acquire);
        }
    },
    RELEASE_AFTER_LAPSE {
        @Override
        void run(Stage s) throws Exception {
            Library.Lock a = s.shortLock("A");
            s.seen.expect(true, "A acquires:", a::acquire);
            s.lapse();
            s.seen.note("A releases:", a::release);
            s.seen.expect(true, "B acquires:", s.lock("B")::acquire);
        }
    },
    EXTEND_OWN {
        @Override
        void run(Stage s) throws Exception {
            Library.Lock a = s.client("A").lock(s.name, Stage.EXTENDED);
            s.seen.expect(true, "A acquires:", a::acquire);
            if (s.library.extendsByFirstTtl()) {
                Thread.sleep(Stage.EXTENDED.toMillis() * 2 / 3);
                s.seen.expect(true, "A extends:", () -> a.extend(Stage.EXTENDED));
                Thread.sleep(Stage.EXTENDED.toMillis() * 2 / 3);
            } else {
                s.seen.expect(true, "A extends:", () -> a.extend(Stage.LONG));
                Stage.outlive(Stage.EXTENDED);
            }
            s.seen.expect(false, "B acquires:", s.lock("B")::acquire);
        }
    },
    EXTEND_AFTER_LAPSE {
        @Override
        void run(Stage s) throws Exception {
            Library.Lock a = s.shortLock("A");
            s.seen.expect(true, "A acquires:", a::acquire);
            s.lapse();
            s.seen.note("A extends:", () -> a.extend(Stage.LONG));
            s.seen.note("B acquires:", s.lock("B")::acquire);
        }
    },
    QUERY_OWNED {
        @Override
        void run(Stage s) throws Exception {
            Library.Lock a = s.lock("A");
            s.seen.add("before:", a.query());
            s.seen.expect(true, "A acquires:", a::acquire);
            s.seen.add("A's view:", a.query());
            s.seen.add("B's view:", s.lock("B").query());
            s.seen.expect(true, "A releases:", a::release);
            s.seen.add("after:", a.query());
        }
    },
    LAPSE_HANDS_OVER {
        @Override
        void run(Stage s) throws Exception {
            Library.Lock a = s.shortLock("A");
            Library.Lock b = s.lock("B");
            long start = System.nanoTime();
            s.seen.expect(true, "A acquires:", a::acquire);
            s.seen.expect(true, "B acquires in the end:", () -> b.acquireAgainAndAgain(Duration.ofSeconds(5)));
            Duration waited = Duration.ofNanos(System.nanoTime() - start);
            Duration ttl = s.library.shortest();
            s.seen.expect(true, "not too early:", () -> Library.Answer.of(waited.compareTo(ttl.minus(Stage.CLOCK_STEP)) > 0));
            s.seen.expect(true, "within two seconds:", () -> Library.Answer.of(waited.compareTo(ttl.plusSeconds(2)) < 0));
        }
    },
    CONTENTION {
        @Override
        void run(Stage s) throws Exception {
            new Contention(s, 8, 50).run(() -> {});
        }
    },
    MASTER_KILLED {
        @Override
        void run(Stage s) throws Exception {
            if (!s.at.faults()) {
                new Contention(s, 8, 25).run(() -> {});
                return;
            }
            try {
                new Contention(s, 8, 25).run(s.control::killMaster);
            } finally {
                s.control.heal();
            }
        }
    },
    PROXY_RESTARTED {
        @Override
        void run(Stage s) throws Exception {
            Library.Lock a = s.lock("A");
            Library.Lock b = s.lock("B");
            s.seen.expect(true, "A acquires:", a::acquire);
            s.seen.expect(false, "B acquires:", b::acquire);
            s.extendIfOffered("A extends:", a);
            if (s.at.faults()) {
                s.control.restartProxy();
            }
            s.reconnect("A");
            s.reconnect("B");
            s.extendIfOffered("A extends again:", a);
            s.seen.expect(false, "B acquires again:", b::acquire);
            s.seen.expect(true, "A releases:", a::release);
            s.seen.expect(true, "B acquires the free lock:", b::acquire);
            s.seen.expect(true, "B releases:", b::release);
        }
    };

    abstract void run(Stage s) throws Exception;

    /** Faults strike every client of the proxy, and rounds are enough load for the machine. */
    boolean alone() {
        return this == CONTENTION || this == MASTER_KILLED || this == PROXY_RESTARTED;
    }

    String label() {
        return name().toLowerCase().replace('_', '-');
    }
}
