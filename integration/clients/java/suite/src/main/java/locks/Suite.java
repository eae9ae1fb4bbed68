package locks;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Runs every library through every scenario and prints a line for each. */
public final class Suite {
    /** How many libraries are on stage at once; most of a scenario is waiting. */
    private static final int AT_ONCE = 6;

    private final PrintStream out;
    private final Control control = new Control();
    private final Endpoint proxy = Endpoint.proxy();
    private final Endpoint plain = Endpoint.plain();

    private Suite(PrintStream out) {
        this.out = out;
    }

    /** Runs the suite. Whatever a library prints on stdout goes to stderr. */
    public static void run(List<Library> libraries) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        Suite suite = new Suite(out);
        suite.together(libraries);
        for (Library library : libraries) {
            suite.play(library, true);
        }
        System.exit(0); // some libraries leave threads behind
    }

    private void together(List<Library> libraries) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE);
        List<Callable<Void>> tasks = new ArrayList<>();
        for (Library library : libraries) {
            tasks.add(() -> {
                play(library, false);
                return null;
            });
        }
        for (Future<Void> task : threads.invokeAll(tasks)) {
            task.get();
        }
        threads.shutdown();
    }

    /** Plays the scenarios that run alone, or those that need not. */
    private void play(Library library, boolean alone) throws Exception {
        for (Scenario scenario : Scenario.values()) {
            if (scenario.alone() == alone) {
                print(result(library, scenario));
            }
        }
    }

    private Result result(Library library, Scenario scenario) throws Exception {
        if (library.missing() != null) {
            return new Result(library, scenario, "not-run", library.missing());
        }
        return library.refused() ? refusal(library, scenario) : compare(library, scenario);
    }

    private Result compare(Library library, Scenario scenario) throws Exception {
        try {
            Transcript one = perform(library, scenario, plain);
            Transcript many = perform(library, scenario, proxy);
            boolean same = one.seen().equals(many.seen()) && one.sound() && many.sound();
            return new Result(library, scenario, same ? "pass" : "differs", same ? "" : "proxy: " + many + "; plain: " + one);
        } catch (Library.NotOffered e) {
            return new Result(library, scenario, "unsupported", "library: " + e.getMessage());
        }
    }

    private Transcript perform(Library library, Scenario scenario, Endpoint at) throws Exception {
        Stage stage = new Stage(library, at, control);
        try (stage) {
            scenario.run(stage);
        } catch (Library.NotOffered e) {
            throw e;
        } catch (Exception e) {
            stage.seen.fault(Transcript.describe(e));
        }
        return stage.seen;
    }

    /** The proxy must say no at the first command that takes the lock. */
    private Result refusal(Library library, Scenario scenario) throws Exception {
        Transcript said = perform(library, Scenario.ACQUIRE_FREE, proxy);
        String first = said.seen().isEmpty() ? said.toString() : said.seen().get(0);
        first = first.split(" channel: ")[0]; // behind it Redisson says how the command was sent
        boolean clear = first.contains("ERR ");
        return new Result(library, scenario, clear ? "unsupported" : "differs", "proxy: " + first);
    }

    private synchronized void print(Result result) {
        out.println(result.json());
        out.flush();
    }
}
