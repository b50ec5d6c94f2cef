import static io.netty.handler.codec.http.HttpHeaderNames.ALLOW;
import static io.netty.handler.codec.http.HttpHeaderNames.CONNECTION;
import static io.netty.handler.codec.http.HttpHeaderNames.CONTENT_LENGTH;
import static io.netty.handler.codec.http.HttpHeaderNames.CONTENT_TYPE;
import static io.netty.handler.codec.http.HttpHeaderNames.DATE;
import static io.netty.handler.codec.http.HttpHeaderNames.HOST;
import static io.netty.handler.codec.http.HttpHeaderValues.CLOSE;
import static io.netty.handler.codec.http.HttpHeaderValues.KEEP_ALIVE;
import static io.netty.handler.codec.http.HttpHeaderValues.TEXT_PLAIN;
import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.METHOD_NOT_ALLOWED;
import static io.netty.handler.codec.http.HttpResponseStatus.NOT_FOUND;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;

import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.Date;
import java.util.List;

/** Answers the requests of one connection. */
final class HelloHandler extends SimpleChannelInboundHandler<HttpObject> {
    /** The Date header's value, made once a second. */
    private static volatile String date = DateFormatter.format(new Date());

    static void tick() {
        date = DateFormatter.format(new Date());
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
        // Of bodies nothing is made.
        if (!(message instanceof HttpRequest request)) {
            return;
        }
        FullHttpResponse response = answer(context, request);
        // After a request that isn't HTTP, nothing that follows can be understood.
        boolean keepAlive = HttpUtil.isKeepAlive(request) && request.decoderResult().isSuccess();
        if (!keepAlive) {
            response.headers().set(CONNECTION, CLOSE);
        } else if (!request.protocolVersion().isKeepAliveDefault()) {
            response.headers().set(CONNECTION, KEEP_ALIVE);
        }
        ChannelFuture written = context.write(response);
        if (!keepAlive) {
            written.addListener(ChannelFutureListener.CLOSE);
        }
    }

    private static FullHttpResponse answer(ChannelHandlerContext context, HttpRequest request) {
        if (!request.decoderResult().isSuccess()) {
            return response(context, BAD_REQUEST, "bad request\n");
        }
        // Such a request has to be refused (RFC 9112, section 3.2), which Netty leaves to others.
        if (request.protocolVersion().equals(HttpVersion.HTTP_1_1) && !request.headers().contains(HOST)) {
            return response(context, BAD_REQUEST, "there is no Host\n");
        }
        QueryStringDecoder uri = new QueryStringDecoder(request.uri());
        if (!uri.rawPath().equals("/hello")) {
            return response(context, NOT_FOUND, Greeting.WRONG_PATH);
        }
        if (!request.method().equals(HttpMethod.GET) && !request.method().equals(HttpMethod.HEAD)) {
            FullHttpResponse refusal = response(context, METHOD_NOT_ALLOWED, Greeting.WRONG_METHOD);
            refusal.headers().set(ALLOW, "GET, HEAD");
            return refusal;
        }
        String id = id(uri);
        return Greeting.isId(id)
                ? response(context, OK, Greeting.to(id))
                : response(context, BAD_REQUEST, Greeting.WRONG_ID);
    }

    private static String id(QueryStringDecoder uri) {
        try {
            return uri.parameters().getOrDefault("id", List.of("")).get(0);
        } catch (IllegalArgumentException wrongEscape) {
            return "";
        }
    }

    private static FullHttpResponse response(
            ChannelHandlerContext context, HttpResponseStatus status, String body) {
        // Not the request's version, which may be one that there isn't.
        FullHttpResponse response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1, status, ByteBufUtil.writeAscii(context.alloc(), body));
        response.headers()
                .set(DATE, date)
                .set(CONTENT_TYPE, TEXT_PLAIN)
                .setInt(CONTENT_LENGTH, response.content().readableBytes());
        return response;
    }

    /** A connection that breaks is its client's affair; one line says what happened. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        System.err.println(cause);
        context.close();
    }
}
