package locks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Looks at keys without any library. */
final class Raw {
    private Raw() {}

    /** Reports whether some key whose name contains the lock's has a TTL. */
    static boolean hasTtl(Endpoint at, String lock) throws IOException {
        try (Socket socket = new Socket(at.host(), at.port())) {
            BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            send(socket, "KEYS", "*" + lock + "*");
            int n = number(in, '*');
            String key = null;
            for (int i = 0; i < n; i++) {
                number(in, '$');
                key = in.readLine();
            }
            if (key == null) {
                return false;
            }
            send(socket, "PTTL", key);
            return number(in, ':') > 0;
        }
    }

    private static void send(Socket socket, String... args) throws IOException {
        StringBuilder b = new StringBuilder("*" + args.length + "\r\n");
        for (String arg : args) {
            b.append('$').append(arg.getBytes(StandardCharsets.UTF_8).length).append("\r\n").append(arg).append("\r\n");
        }
        socket.getOutputStream().write(b.toString().getBytes(StandardCharsets.UTF_8));
    }

    private static int number(BufferedReader in, char kind) throws IOException {
        String line = in.readLine();
        if (line == null || line.isEmpty() || line.charAt(0) != kind) {
            throw new IOException("wanted a reply of kind " + kind + ", got " + line);
        }
        return Integer.parseInt(line.substring(1));
    }
}
