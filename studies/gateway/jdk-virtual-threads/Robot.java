import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** A robot's connection. Frames have their lengths before them, and are shared by all to whom they go. */
final class Robot {
    private static final int LENGTH_BYTES = 2;
    /** Bytes of the frame that joins a room: its length, J and the room's number. */
    private static final int JOIN_BYTES = LENGTH_BYTES + 5;
    /** So many frames may wait for it. */
    private static final int WAITING_MAX = 1024;

    private final Socket socket;
    private final BlockingQueue<byte[]> waiting = new LinkedBlockingQueue<>(WAITING_MAX);

    Robot(Socket socket) {
        this.socket = socket;
    }

    void start() {
        Thread writer = Thread.startVirtualThread(this::write);
        Thread.startVirtualThread(() -> {
            read();
            writer.interrupt();
        });
    }

    /** Has a frame wait for it. One that reads so slowly that there is no room for it is cut. */
    void send(byte[] frame) {
        if (!waiting.offer(frame)) {
            cut();
        }
    }

    /** Both threads notice. */
    private void cut() {
        try {
            socket.close();
        } catch (IOException closedAllTheSame) {
            // Nobody is there to be told.
        }
    }

    /** Takes in what the robot says, until its connection ends. */
    private void read() {
        Room room = null;
        try {
            socket.setTcpNoDelay(true);
            DataInputStream input = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            for (byte[] frame; (frame = readFrame(input)).length > LENGTH_BYTES; ) {
                if (frame.length == JOIN_BYTES && frame[LENGTH_BYTES] == 'J') {
                    if (room != null) {
                        room.leave(this);
                    }
                    room = Room.join(this, frame, LENGTH_BYTES + 1);
                } else if (room != null) {
                    room.say(frame);
                    if (waiting.size() > WAITING_MAX / 2) {
                        // Who says much at once lets them write first.
                        Thread.yield();
                    }
                }
            }
        } catch (IOException gone) {
            // It ended, or was cut: nothing to be done.
        } finally {
            if (room != null) {
                room.leave(this);
            }
            cut();
        }
    }

    private static byte[] readFrame(DataInputStream input) throws IOException {
        int bytes = input.readUnsignedShort();
        byte[] frame = new byte[LENGTH_BYTES + bytes];
        frame[0] = (byte) (bytes >> 8);
        frame[1] = (byte) bytes;
        input.readFully(frame, LENGTH_BYTES, bytes);
        return frame;
    }

    /** Puts out what waits for the robot: what waits together goes out together. */
    private void write() {
        try {
            OutputStream output = new BufferedOutputStream(socket.getOutputStream());
            while (true) {
                for (byte[] frame = waiting.take(); frame != null; frame = waiting.poll()) {
                    output.write(frame);
                }
                output.flush();
            }
        } catch (IOException | InterruptedException gone) {
            cut();
        }
    }
}
