import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.ChannelMatchers;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** A robot's connection. It takes whole frames, with their lengths before them. */
final class RoomHandler extends ChannelInboundHandlerAdapter {
    static final int LENGTH_BYTES = 2;

    /** Bytes of the frame that joins a room: its length, J and the room's number. */
    private static final int JOIN_BYTES = LENGTH_BYTES + 5;

    /** Those in which there is somebody. */
    private static final ConcurrentMap<Integer, ChannelGroup> ROOMS = new ConcurrentHashMap<>();

    private int number;
    /** Where it is; null before it has joined. */
    private ChannelGroup room;
    /** Whether it has said something there that isn't flushed. */
    private boolean hasSaid;

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        ByteBuf frame = (ByteBuf) message;
        if (frame.readableBytes() == LENGTH_BYTES) {
            // A frame has a byte at least.
            frame.release();
            context.close();
        } else if (frame.readableBytes() == JOIN_BYTES && frame.getByte(LENGTH_BYTES) == 'J') {
            leave(context.channel());
            join(context.channel(), frame.getInt(LENGTH_BYTES + 1));
            // What others say there is written later, by this event loop as well.
            context.writeAndFlush(frame);
        } else if (room == null) {
            frame.release();
        } else {
            // All share the frame. Without a promise for each nobody has to remember them.
            room.write(frame, ChannelMatchers.all(), true);
            hasSaid = true;
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        flush();
    }

    private void flush() {
        if (hasSaid) {
            room.flush();
            hasSaid = false;
        }
    }

    /** A robot that reads so slowly that too much waits for it is cut. */
    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        if (!context.channel().isWritable()) {
            context.close();
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        leave(context.channel());
    }

    /** A connection that breaks is its robot's affair. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }

    private void join(Channel channel, int to) {
        number = to;
        room = ROOMS.compute(to, (key, there) -> {
            ChannelGroup group = there == null ? new DefaultChannelGroup(GlobalEventExecutor.INSTANCE) : there;
            group.add(channel);
            return group;
        });
    }

    private void leave(Channel channel) {
        if (room != null) {
            flush();
            ROOMS.computeIfPresent(number, (key, group) -> {
                group.remove(channel);
                return group.isEmpty() ? null : group;
            });
            room = null;
        }
    }
}
