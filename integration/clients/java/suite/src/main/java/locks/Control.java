package locks;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Asks the runner for faults. They concern the proxy only. */
final class Control {
    private final HttpClient http = HttpClient.newHttpClient();
    private final URI base = URI.create(Endpoint.env("CONTROL_URL"));

    void killMaster() throws IOException, InterruptedException {
        post("/kill-master");
    }

    void heal() throws IOException, InterruptedException {
        post("/heal");
    }

    void restartProxy() throws IOException, InterruptedException {
        post("/restart-proxy");
    }

    private void post(String path) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(base.resolve(path))
                .timeout(Duration.ofSeconds(60))
                .POST(HttpRequest.BodyPublishers.noBody())
                .build();
        HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new IOException("POST " + path + ": " + response.statusCode() + " " + response.body());
        }
    }
}
