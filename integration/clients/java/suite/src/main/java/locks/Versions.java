package locks;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the version of a library from the name of the jar that it was loaded from. */
public final class Versions {
    private static final Pattern JAR = Pattern.compile("-(\\d[^/]*)\\.jar$");

    private Versions() {}

    public static String of(Class<?> type) {
        String jar = type.getProtectionDomain().getCodeSource().getLocation().getPath();
        Matcher m = JAR.matcher(jar);
        if (!m.find()) {
            throw new IllegalStateException(jar + ": no version in the name of the jar");
        }
        return m.group(1);
    }
}
