import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Queue;
import java.util.Set;

// The study asks: {contract}
//
// A frame is a length of two bytes, big-endian, and as many bytes. `J` and the number of a room join
// that room, and come back. Any other frame goes to all members of its sender's room.
//
// One thread does it all.
public class Gateway {
    // The members of each room, by its number.
    static final Map<Integer, Set<Robot>> rooms = new HashMap<>();

    // Bytes that may wait for a robot: who reads so slowly that it is more is cut.
    static final int WAITING_MAX = 1 << 20;

    // A frame's length and all that it can hold.
    static final int FRAME_MAX = 2 + 65535;

    public static void main(String[] arguments) throws IOException {
        Selector selector = Selector.open();
        ServerSocketChannel listener = ServerSocketChannel.open();
        int port = Integer.parseInt(System.getenv("PORT"));
        listener.bind(new InetSocketAddress(System.getenv("HOST"), port), 4096);
        listener.configureBlocking(false);
        listener.register(selector, SelectionKey.OP_ACCEPT);
        while (true) {
            selector.select(
                    key -> {
                        try {
                            if (key.isAcceptable()) {
                                accept(listener, selector);
                            } else {
                                ((Robot) key.attachment()).work();
                            }
                        } catch (IOException error) {
                            System.err.println(error);
                        }
                    });
        }
    }

    static void accept(ServerSocketChannel listener, Selector selector) throws IOException {
        SocketChannel channel = listener.accept();
        if (channel != null) {
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            SelectionKey key = channel.register(selector, SelectionKey.OP_READ);
            key.attach(new Robot(channel, key));
        }
    }

    static class Robot {
        // All read into one buffer and keep what is left of a frame that was cut.
        static final ByteBuffer input = ByteBuffer.allocate(2 * FRAME_MAX);

        final SocketChannel channel;
        final SelectionKey key;
        byte[] cut = {};
        Set<Robot> room = null;
        final Queue<ByteBuffer> waiting = new ArrayDeque<>();
        int waitingBytes = 0;

        Robot(SocketChannel channel, SelectionKey key) {
            this.channel = channel;
            this.key = key;
        }

        void work() {
            try {
                if (key.isWritable()) {
                    write();
                }
                if (key.isValid() && key.isReadable()) {
                    read();
                }
            } catch (IOException error) {
                end();
            }
        }

        void read() throws IOException {
            input.clear();
            input.put(cut);
            if (channel.read(input) < 0) {
                end();
                return;
            }
            input.flip();
            while (channel.isOpen() && input.remaining() >= 2) {
                int length = 2 + Short.toUnsignedInt(input.getShort(input.position()));
                if (input.remaining() < length) {
                    break;
                }
                byte[] frame = new byte[length];
                input.get(frame);
                hear(ByteBuffer.wrap(frame));
            }
            cut = new byte[input.remaining()];
            input.get(cut);
        }

        void hear(ByteBuffer frame) {
            if (frame.limit() == 7 && frame.get(2) == 'J') {
                leave();
                room = rooms.computeIfAbsent(frame.getInt(3), number -> new HashSet<>());
                room.add(this);
                send(frame);
            } else if (room != null) {
                // Who is cut meanwhile leaves.
                for (Robot member : room.toArray(new Robot[0])) {
                    member.send(frame.duplicate());
                }
            }
        }

        void send(ByteBuffer frame) {
            try {
                waiting.add(frame);
                waitingBytes += frame.remaining();
                write();
            } catch (IOException error) {
                end();
            }
            if (waitingBytes > WAITING_MAX) {
                end();
            }
        }

        void write() throws IOException {
            while (!waiting.isEmpty()) {
                waitingBytes -= channel.write(waiting.peek());
                if (waiting.peek().hasRemaining()) {
                    key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
                    return;
                }
                waiting.remove();
            }
            key.interestOps(SelectionKey.OP_READ);
        }

        void leave() {
            if (room != null) {
                room.remove(this);
                room = null;
            }
        }

        void end() {
            leave();
            waiting.clear();
            waitingBytes = 0;
            key.cancel();
            try {
                channel.close();
            } catch (IOException error) {
                System.err.println(error);
            }
        }
    }
}
