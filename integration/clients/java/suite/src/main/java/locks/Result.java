package locks;

/** One cell of the table. */
record Result(Library library, Scenario scenario, String result, String detail) {

    String json() {
        return "{" + field("language", "java")
                + "," + field("library", library.name())
                + "," + field("version", library.version())
                + "," + field("scenario", scenario.label())
                + "," + field("result", result)
                + "," + field("detail", detail) + "}";
    }

    private static String field(String name, String value) {
        StringBuilder b = new StringBuilder("\"" + name + "\":\"");
        for (char c : value.toCharArray()) {
            if (c == '"' || c == '\\') {
                b.append('\\').append(c);
            } else if (c < ' ') {
                b.append(' ');
            } else {
                b.append(c);
            }
        }
        return b.append('"').toString();
    }
}
