import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerExpectContinueHandler;
import java.time.ZoneId;
import java.util.concurrent.TimeUnit;

/** A hello-world server, built up as Netty's own HTTP examples are. */
final class Server {
    private Server() {}

    /** Takes the transport's name, the address and the port. */
    public static void main(String[] arguments) throws InterruptedException {
        Transport transport = Transport.named(arguments[0]);
        // Netty logs what it can't accept, and the JDK's log reads the time zones for its
        // first line, out of a file. Where no more files may be open that would end the
        // event loop.
        ZoneId.systemDefault();
        // One group accepts and serves, as Netty's examples have it since 4.2.3
        // (netty/netty#15394), with Netty's own number of event loops: two for each
        // processor.
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(transport.ioHandlers().get());
        group.scheduleAtFixedRate(HelloHandler::tick, 1, 1, TimeUnit.SECONDS);
        new ServerBootstrap()
                .group(group)
                .channel(transport.serverChannel())
                // The examples' 1,024 overflow when thousands connect at once. The
                // kernel cuts it to net.core.somaxconn, 4,096 on Debian 12.
                .option(ChannelOption.SO_BACKLOG, 8192)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline()
                                .addLast(new HttpServerCodec())
                                .addLast(new HttpServerExpectContinueHandler())
                                .addLast(new HelloHandler());
                    }
                })
                .bind(arguments[1], Integer.parseInt(arguments[2]))
                .sync()
                .channel()
                .closeFuture()
                .sync();
    }
}
