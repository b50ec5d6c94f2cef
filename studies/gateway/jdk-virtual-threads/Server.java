import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** A gateway of rooms on the JDK's sockets: a virtual thread that reads and one that writes for each robot. */
final class Server {
    /** The default of 50 overflows when thousands connect at once. The kernel cuts it to net.core.somaxconn. */
    private static final int BACKLOG = 8192;
    /** Before another try where no connection can be accepted. */
    private static final int PAUSE_MS = 100;

    private Server() {}

    /** Takes the address and the port. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        try (ServerSocket listener = new ServerSocket()) {
            listener.bind(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1])), BACKLOG);
            while (true) {
                try {
                    Socket socket = listener.accept();
                    new Robot(socket).start();
                } catch (IOException error) {
                    System.err.println("couldn't accept a connection: " + error.getMessage());
                    // Most likely no more files may be open, which passes when a connection ends.
                    Thread.sleep(PAUSE_MS);
                }
            }
        }
    }
}
