// A hello-world server on Boost.Beast, structured as Beast's own examples of
// asynchronous servers: one io_context run by a thread a core, a strand and a
// C++20 coroutine a connection.

// First, as Boost 1.74's awaitable.hpp uses it without saying so.
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/version.hpp>
#include <boost/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = net::ip::tcp;

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

namespace {

constexpr std::size_t id_length_max = 64;
/// The kernel cuts it to net.core.somaxconn, 4,096 on Debian 12.
constexpr int backlog = 8192;
/// Before another try where no connection can be accepted.
constexpr std::chrono::milliseconds retry_after{100};
/// The examples' limit for reading a request and writing its answer.
///
/// To set it anew for each request, as they do, costs a timer for the read and one
/// for the write. On two virtual cores, a run each, this server took 17, 31 and
/// 34 µs of CPU a request at 30, 1,000 and 5,000 connections, and 13, 20 and 29
/// without any limit: so it is a part of the cost, and the smaller one of what
/// 5,000 connections take more than 30. It stays, since a server without it keeps
/// every client that has gone silent.
constexpr std::chrono::seconds patience{30};

/// The Date header's value, made once a second by each thread that needs it:
/// Beast sends no Date of its own.
std::string const& date() {
    thread_local std::time_t made_at = 0;
    thread_local std::string text;
    auto const now = std::time(nullptr);
    if (now != made_at) {
        std::tm parts{};
        gmtime_r(&now, &parts);
        char buffer[32];
        // The names of days and months are English, as no locale is ever set.
        auto const length =
            std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &parts);
        text.assign(buffer, length);
        made_at = now;
    }
    return text;
}

/// Appends a random number of 32 hexadecimal digits.
void append_number(std::string& text) {
    thread_local std::mt19937_64 random{std::random_device{}()};
    for (int half = 0; half < 2; ++half) {
        auto bits = random();
        for (int digit = 0; digit < 16; ++digit) {
            text += "0123456789abcdef"[bits & 0xf];
            bits >>= 4;
        }
    }
}

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// The query's id; empty where there is none that is safe to echo into any kind
/// of text.
std::string_view id_of(std::string_view query) {
    while (!query.empty()) {
        auto const pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        if (pair.substr(0, 3) == "id=") {
            auto const id = pair.substr(3);
            auto const is_safe = id.size() <= id_length_max &&
                                 std::all_of(id.begin(), id.end(), is_alphanumeric);
            return is_safe ? id : std::string_view{};
        }
    }
    return {};
}

Response answer(Request const& request) {
    Response response{http::status::ok, request.version()};
    response.keep_alive(request.keep_alive());
    response.set(http::field::date, date());
    response.set(http::field::content_type, "text/plain");

    std::string_view const target{request.target().data(), request.target().size()};
    auto const path = target.substr(0, target.find('?'));
    auto const is_head = request.method() == http::verb::head;
    auto& body = response.body();
    if (request.version() == 11 && request.find(http::field::host) == request.end()) {
        // It has to be refused (RFC 9112, section 3.2), which Beast leaves to others.
        response.result(http::status::bad_request);
        body = "there is no Host\n";
    } else if (path != "/hello") {
        response.result(http::status::not_found);
        body = "not found\n";
    } else if (request.method() != http::verb::get && !is_head) {
        response.result(http::status::method_not_allowed);
        response.set(http::field::allow, "GET, HEAD");
        body = "method not allowed\n";
    } else {
        auto const id = id_of(target.substr(std::min(path.size() + 1, target.size())));
        if (id.empty()) {
            response.result(http::status::bad_request);
            body = "the id has to be 1 to 64 letters and digits\n";
        } else {
            body.append("hello ").append(id).append(", your random number is ");
            append_number(body);
            body += '\n';
        }
    }
    response.prepare_payload();
    if (is_head) {
        body.clear();
    }
    return response;
}

net::awaitable<void> serve(tcp::socket socket) {
    beast::tcp_stream stream{std::move(socket)};
    beast::flat_buffer buffer;
    beast::error_code error;
    auto token = net::redirect_error(net::use_awaitable, error);
    for (bool keep = true; keep;) {
        stream.expires_after(patience);
        Request request;
        co_await http::async_read(stream, buffer, request, token);
        if (error) {
            // The client has gone, was silent for too long, or sent no HTTP: the
            // connection ends.
            co_return;
        }
        auto response = answer(request);
        keep = response.keep_alive();
        co_await http::async_write(stream, response, token);
        if (error) {
            co_return;
        }
    }
    stream.socket().shutdown(tcp::socket::shutdown_send, error);
}

net::awaitable<void> accept(tcp::endpoint endpoint) {
    auto const executor = co_await net::this_coro::executor;
    tcp::acceptor acceptor{executor};
    acceptor.open(endpoint.protocol());
    acceptor.set_option(net::socket_base::reuse_address(true));
    acceptor.bind(endpoint);
    acceptor.listen(backlog);
    for (;;) {
        beast::error_code error;
        // Of a connection, two things can happen at once: bytes and its timeout.
        // The strand keeps them apart.
        auto const strand = net::make_strand(executor);
        auto socket = co_await acceptor.async_accept(
            strand, net::redirect_error(net::use_awaitable, error));
        if (error) {
            std::cerr << "couldn't accept a connection: " << error.message() << '\n';
            // Most likely no more files may be open, which passes when a connection ends.
            net::steady_timer timer{executor, retry_after};
            co_await timer.async_wait(net::use_awaitable);
            continue;
        }
        net::co_spawn(strand, serve(std::move(socket)), net::detached);
    }
}

std::string environment(char const* name) {
    auto const* value = std::getenv(name);
    if (value == nullptr) {
        throw std::runtime_error(std::string{name} + " is not set");
    }
    return value;
}

void run() {
    auto const address = net::ip::make_address(environment("HOST"));
    auto const port = static_cast<unsigned short>(std::stoi(environment("PORT")));
    auto const cores = std::stoi(environment("CORES"));

    net::io_context context{cores};
    net::co_spawn(context, accept({address, port}), [](std::exception_ptr failed) {
        if (failed) {
            std::rethrow_exception(failed);
        }
    });
    std::vector<std::thread> threads;
    for (int core = 1; core < cores; ++core) {
        threads.emplace_back([&context] { context.run(); });
    }
    context.run();
    for (auto& thread : threads) {
        thread.join();
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 2 && std::string_view{arguments[1]} == "--version") {
        std::cout << "Boost " << BOOST_VERSION / 100000 << '.' << BOOST_VERSION / 100 % 1000
                  << ", " << BOOST_BEAST_VERSION_STRING << '\n';
        return EXIT_SUCCESS;
    }
    try {
        run();
    } catch (std::exception const& error) {
        std::cerr << "the server ended: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
