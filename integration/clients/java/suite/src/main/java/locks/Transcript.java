package locks;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * What the callers of one scenario saw, step by step, in words that are the same
 * in every run; and where that is not what the scenario asks for.
 */
final class Transcript {
    private static final Pattern TOKEN = Pattern.compile("[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9a-f]{16,}");
    private static final Pattern ADDRESS = Pattern.compile("(localhost|[\\w.]*/)?127\\.0\\.0\\.1[:/]\\d+");

    private final String lock;
    private final List<String> seen = new ArrayList<>();
    private final List<String> faults = new ArrayList<>();

    Transcript(String lock) {
        this.lock = lock;
    }

    /** One call of a caller. */
    interface Call {
        Library.Answer run() throws Exception;
    }

    /** Makes the call and notes the answer, or the exception in its place. */
    boolean note(String who, Call call) throws Library.NotOffered {
        try {
            Library.Answer answer = call.run();
            add(who, answer.said());
            return answer.yes();
        } catch (Library.NotOffered e) {
            throw e;
        } catch (Exception e) {
            add(who, describe(e));
            return false;
        }
    }

    /** Like note, and it is a fault if the answer does not mean what the scenario asks for. */
    void expect(boolean want, String who, Call call) throws Library.NotOffered {
        if (note(who, call) != want) {
            faults.add(who + ": wanted " + (want ? "yes" : "no"));
        }
    }

    void add(String who, String what) {
        seen.add(who + " " + normal(what));
    }

    void fault(String what) {
        faults.add(normal(what));
    }

    List<String> seen() {
        return seen;
    }

    boolean sound() {
        return faults.isEmpty();
    }

    @Override
    public String toString() {
        return seen + (faults.isEmpty() ? "" : ", at fault: " + faults);
    }

    /** The class that the caller would catch, and the words of the cause. */
    static String describe(Throwable e) {
        Throwable root = e;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        String name = e.getClass().getSimpleName();
        return root == e ? name + ": " + e.getMessage() : name + " < " + root.getClass().getSimpleName() + ": " + root.getMessage();
    }

    private String normal(String text) {
        text = text.replace(lock, "LOCK");
        text = TOKEN.matcher(text).replaceAll("TOKEN");
        return ADDRESS.matcher(text).replaceAll("SERVER");
    }
}
