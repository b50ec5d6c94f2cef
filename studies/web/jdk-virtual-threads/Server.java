import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.util.concurrent.Executors;

/** A hello-world server on the JDK's own HTTP server: one virtual thread a request. */
final class Server {
    private Server() {}

    /** Takes the address and the port. */
    public static void main(String[] arguments) throws IOException {
        InetSocketAddress address = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        // The default backlog of 50 overflows when thousands connect at once. The
        // kernel cuts it to net.core.somaxconn, 4,096 on Debian 12.
        HttpServer server = HttpServer.create(address, 8192);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/hello", Server::hello);
        server.start();
    }

    private static void hello(HttpExchange exchange) throws IOException {
        String method = exchange.getRequestMethod();
        // Such a request has to be refused (RFC 9112, section 3.2), which this server leaves to others.
        if (exchange.getProtocol().equals("HTTP/1.1") && !exchange.getRequestHeaders().containsKey("Host")) {
            answer(exchange, 400, "there is no Host\n");
            return;
        }
        // A context is a prefix: /hello/there comes here as well.
        if (!exchange.getRequestURI().getPath().equals("/hello")) {
            answer(exchange, 404, Greeting.WRONG_PATH);
        } else if (!method.equals("GET") && !method.equals("HEAD")) {
            exchange.getResponseHeaders().set("Allow", "GET, HEAD");
            answer(exchange, 405, Greeting.WRONG_METHOD);
        } else {
            String id = id(exchange.getRequestURI().getRawQuery());
            if (Greeting.isId(id)) {
                answer(exchange, 200, Greeting.to(id));
            } else {
                answer(exchange, 400, Greeting.WRONG_ID);
            }
        }
    }

    /** The query's id; empty if it has none. */
    private static String id(String query) {
        if (query != null) {
            for (String pair : query.split("&")) {
                if (pair.startsWith("id=")) {
                    return URLDecoder.decode(pair.substring("id=".length()), UTF_8);
                }
            }
        }
        return "";
    }

    private static void answer(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "text/plain");
        try (exchange) {
            if (exchange.getRequestMethod().equals("HEAD")) {
                // -1 says that no body follows; the length is what GET would have.
                exchange.getResponseHeaders().set("Content-Length", Integer.toString(body.length));
                exchange.sendResponseHeaders(status, -1);
            } else {
                exchange.sendResponseHeaders(status, body.length);
                exchange.getResponseBody().write(body);
            }
        }
    }
}
