package locks;

/** A library that belongs here and could not be installed when the versions were pinned. */
public record Missing(String name, String version, String missing) implements Library {

    @Override
    public Client connect(Endpoint at) {
        throw new UnsupportedOperationException(missing);
    }
}
