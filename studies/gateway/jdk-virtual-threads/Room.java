import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/** Who is in a room. Its lock is none of `synchronized`, which kept virtual threads on theirs until JDK 24. */
final class Room {
    /** Those in which there is somebody, and their lock, which is taken before that of a room. */
    private static final Map<Integer, Room> ROOMS = new HashMap<>();
    private static final ReentrantLock LOCK_OF_ROOMS = new ReentrantLock();

    private final int number;
    private final Set<Robot> members = new HashSet<>();
    private final ReentrantLock lock = new ReentrantLock();

    private Room(int number) {
        this.number = number;
    }

    /** Puts a robot into the room whose number is in its frame, which it hears before anything that is said there. */
    static Room join(Robot robot, byte[] frame, int numberAt) {
        int number = ByteBuffer.wrap(frame).getInt(numberAt);
        LOCK_OF_ROOMS.lock();
        try {
            Room room = ROOMS.computeIfAbsent(number, Room::new);
            room.lock.lock();
            try {
                room.members.add(robot);
                robot.send(frame);
            } finally {
                room.lock.unlock();
            }
            return room;
        } finally {
            LOCK_OF_ROOMS.unlock();
        }
    }

    void leave(Robot robot) {
        LOCK_OF_ROOMS.lock();
        lock.lock();
        try {
            members.remove(robot);
            if (members.isEmpty()) {
                ROOMS.remove(number);
            }
        } finally {
            lock.unlock();
            LOCK_OF_ROOMS.unlock();
        }
    }

    /** Sends a frame to all members, the one that said it among them. */
    void say(byte[] frame) {
        lock.lock();
        try {
            for (Robot member : members) {
                member.send(frame);
            }
        } finally {
            lock.unlock();
        }
    }
}
