import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.channel.uring.IoUringServerSocketChannel;
import java.util.function.Supplier;

/**
 * How Netty talks to the kernel.
 *
 * @param unavailable why it can't on this machine, if it can't
 * @param ioHandlers makes the part of an event loop that waits for the kernel
 * @param serverChannel the kind of listening socket
 */
record Transport(
        Throwable unavailable,
        Supplier<IoHandlerFactory> ioHandlers,
        Class<? extends ServerChannel> serverChannel) {

    static Transport named(String name) {
        return switch (name) {
            case "epoll" -> new Transport(
                    Epoll.unavailabilityCause(), EpollIoHandler::newFactory, EpollServerSocketChannel.class);
            case "io_uring" -> new Transport(
                    IoUring.unavailabilityCause(), IoUringIoHandler::newFactory, IoUringServerSocketChannel.class);
            default -> throw new IllegalArgumentException("there is no transport " + name);
        };
    }
}
