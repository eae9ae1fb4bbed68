package locks;

/** One of the two servers that a library is run against. */
public record Endpoint(String name, String host, int port, boolean faults) {

    static Endpoint proxy() {
        return new Endpoint("proxy", env("PROXY_HOST"), Integer.parseInt(env("PROXY_PORT")), true);
    }

    static Endpoint plain() {
        return new Endpoint("plain", env("PLAIN_HOST"), Integer.parseInt(env("PLAIN_PORT")), false);
    }

    static String env(String name) {
        String value = System.getenv(name);
        if (value == null) {
            throw new IllegalStateException(name + " is not set: start this suite by the runner (../README.md)");
        }
        return value;
    }
}
