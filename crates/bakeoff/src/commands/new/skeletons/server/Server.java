import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

public final class Server {
    // The study asks: {contract}
    private static void answer(HttpExchange exchange) throws IOException {
        // It has to be refused (RFC 9112, 3.2), which this server leaves to others.
        if (exchange.getProtocol().equals("HTTP/1.1") && !exchange.getRequestHeaders().containsKey("Host")) {
            send(exchange, 400, "there is no Host\n");
            return;
        }
        // FILL IN: this answers 200 with the same text to every request.
        send(exchange, 200, "to be filled in\n");
    }

    private static void send(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "text/plain");
        boolean isHead = exchange.getRequestMethod().equals("HEAD");
        exchange.sendResponseHeaders(status, isHead ? -1 : body.length);
        if (!isHead) {
            exchange.getResponseBody().write(body);
        }
        exchange.close();
    }

    public static void main(String[] arguments) throws IOException {
        int port = Integer.parseInt(System.getenv("PORT"));
        HttpServer server = HttpServer.create(new InetSocketAddress(System.getenv("HOST"), port), 4096);
        server.createContext("/", Server::answer);
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }
}
