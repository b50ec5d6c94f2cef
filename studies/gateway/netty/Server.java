import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import java.time.ZoneId;

/** A gateway of rooms, built up as Netty's own examples are. */
final class Server {
    /** A robot for whom more bytes wait can't be written to: its handler cuts it. */
    private static final int WAITING_MAX = 4 << 20;

    private Server() {}

    /** Takes the address and the port. */
    public static void main(String[] arguments) throws InterruptedException {
        // Netty logs what it can't accept, and the JDK's log reads the time zones for its
        // first line, out of a file. Where no more files may be open that would end the
        // event loop.
        ZoneId.systemDefault();
        // One group accepts and serves, as Netty's examples have it since 4.2.3
        // (netty/netty#15394), with Netty's own number of event loops: two for each
        // processor.
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(EpollIoHandler.newFactory());
        new ServerBootstrap()
                .group(group)
                .channel(EpollServerSocketChannel.class)
                // The examples' 1,024 overflow when thousands connect at once. The
                // kernel cuts it to net.core.somaxconn, 4,096 on Debian 12.
                .option(ChannelOption.SO_BACKLOG, 8192)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(
                        ChannelOption.WRITE_BUFFER_WATER_MARK,
                        new WriteBufferWaterMark(WAITING_MAX / 2, WAITING_MAX))
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(decoder()).addLast(new RoomHandler());
                    }
                })
                .bind(arguments[0], Integer.parseInt(arguments[1]))
                .sync()
                .channel()
                .closeFuture()
                .sync();
    }

    /** Of frames with two bytes of length, which are left before them. */
    private static LengthFieldBasedFrameDecoder decoder() {
        return new LengthFieldBasedFrameDecoder(
                RoomHandler.LENGTH_BYTES + 65_535, 0, RoomHandler.LENGTH_BYTES);
    }
}
