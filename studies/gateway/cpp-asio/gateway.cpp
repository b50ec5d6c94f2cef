// A gateway of rooms on Boost.Asio, as its chat example: one io_context, here run by a thread a
// core; for each robot a strand, and a C++20 coroutine that reads.

#include "robot.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

/// The kernel cuts it to net.core.somaxconn, 4,096 on Debian 12.
constexpr int backlog = 8192;
/// Before another try where no connection can be accepted.
constexpr std::chrono::milliseconds retry_after{100};

net::awaitable<void> accept(tcp::endpoint endpoint, Rooms& rooms) {
    auto const executor = co_await net::this_coro::executor;
    tcp::acceptor acceptor{executor};
    acceptor.open(endpoint.protocol());
    acceptor.set_option(net::socket_base::reuse_address(true));
    acceptor.bind(endpoint);
    acceptor.listen(backlog);
    for (;;) {
        boost::system::error_code error;
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
        // It fails where the robot has gone already, which reading tells.
        socket.set_option(tcp::no_delay(true), error);
        auto robot = std::make_shared<Robot>(std::move(socket));
        net::co_spawn(strand, Robot::serve(std::move(robot), rooms), net::detached);
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

    Rooms rooms;
    net::io_context context{cores};
    net::co_spawn(context, accept({address, port}, rooms), [](std::exception_ptr failed) {
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

int main() {
    try {
        run();
    } catch (std::exception const& error) {
        std::cerr << "the server ended: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
