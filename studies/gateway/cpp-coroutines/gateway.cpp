// A gateway of rooms on one thread: two coroutines for each robot, one that reads and one that
// writes.

#include "loop.hpp"
#include "robot.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

struct Room {
    std::uint32_t const number;
    std::unordered_set<Robot*> members;
};

namespace {

/// Bytes of a frame's length.
constexpr std::size_t length_bytes = 2;
/// Bytes of what joins a room: J and the room's number.
constexpr std::size_t join_bytes = 5;
/// The kernel cuts it to net.core.somaxconn, 4,096 on Debian 12.
constexpr int backlog = 8192;

/// Before another try where no connection can be accepted: 100 ms.
constexpr itimerspec retry_after{{}, {0, 100'000'000}};

/// Those with somebody in them.
std::unordered_map<std::uint32_t, std::unique_ptr<Room>> rooms;

/// A number of so many bytes, big-endian.
std::uint32_t number_of(std::string_view bytes) {
    std::uint32_t number = 0;
    for (unsigned char const byte : bytes) {
        number = number << 8 | byte;
    }
    return number;
}

void leave(Robot& robot) {
    if (robot.room != nullptr) {
        robot.room->members.erase(&robot);
        if (robot.room->members.empty()) {
            rooms.erase(robot.room->number);
        }
        robot.room = nullptr;
    }
}

/// The robot's own words come back before any others.
void join(Robot& robot, std::string_view words) {
    leave(robot);
    auto const number = number_of(words.substr(length_bytes + 1));
    auto& room = rooms[number];
    if (!room) {
        room = std::make_unique<Room>(number);
    }
    room->members.insert(&robot);
    robot.room = room.get();
    robot.send(std::make_shared<std::string const>(words));
}

void say(Robot const& robot, std::string_view frames) {
    if (frames.empty() || robot.room == nullptr) {
        return;
    }
    auto const shared = std::make_shared<std::string const>(frames);
    for (auto* member : robot.room->members) {
        member->send(shared);
    }
}

/// Does what whole frames say; those that go to the same room go together. Returns how many bytes
/// these are; nothing where an empty one is among them, which no frame is.
std::optional<std::size_t> hear(Robot& robot, std::string_view bytes) {
    std::size_t said = 0;
    std::size_t at = 0;
    while (bytes.size() - at >= length_bytes) {
        auto const length = number_of(bytes.substr(at, length_bytes));
        auto const end = at + length_bytes + length;
        if (length == 0) {
            return {};
        }
        if (end > bytes.size()) {
            break;
        }
        if (length == join_bytes && bytes[at + length_bytes] == 'J') {
            say(robot, bytes.substr(said, at - said));
            join(robot, bytes.substr(at, end - at));
            said = end;
        }
        at = end;
    }
    say(robot, bytes.substr(said, at - said));
    return at;
}

/// Takes in what the robot says, until its connection ends.
Task read(std::shared_ptr<Robot> robot) {
    // All coroutines are on one thread, and none waits while it uses this.
    static std::array<char, 1 << 16> buffer;
    // The beginning of a frame.
    std::string cut;
    for (;;) {
        auto const count = recv(robot->socket.fd, buffer.data(), buffer.size(), 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            co_await robot->socket.readable;
            continue;
        }
        if (count <= 0) {
            break;
        }
        std::string_view bytes{buffer.data(), static_cast<std::size_t>(count)};
        if (!cut.empty()) {
            cut.append(bytes);
            bytes = cut;
        }
        auto const used = hear(*robot, bytes);
        if (!used) {
            break;
        }
        cut = std::string{bytes.substr(*used)};
        // Others first: they may have said something as well.
        co_await robot->socket.readable;
    }
    leave(*robot);
    robot->leave();
}

Task accept(Loop& loop, Socket& listener, Socket& timer) {
    for (;;) {
        auto const fd = accept4(listener.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && errno == EAGAIN) {
            co_await listener.readable;
        } else if (fd < 0) {
            std::fprintf(stderr, "couldn't accept a connection: %s\n", std::strerror(errno));
            // Most likely no more files may be open, which passes when a connection ends.
            loop.remove(listener);
            timerfd_settime(timer.fd, 0, &retry_after, nullptr);
            co_await timer.readable;
            std::uint64_t times = 0;
            checked(static_cast<int>(::read(timer.fd, &times, sizeof times)), "read");
            loop.add(listener);
        } else {
            int const on = 1;
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            auto const robot = std::make_shared<Robot>(loop, fd);
            Robot::write(robot);
            read(robot);
        }
    }
}

/// A socket that listens at this address.
int listen_at(char const* host, char const* port) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (auto const error = getaddrinfo(host, port, &wanted, &found); error != 0) {
        throw std::runtime_error(gai_strerror(error));
    }
    auto const type = found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC;
    auto const fd = checked(socket(found->ai_family, type, 0), "socket");
    int const on = 1;
    checked(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "SO_REUSEADDR");
    checked(bind(fd, found->ai_addr, found->ai_addrlen), "bind");
    freeaddrinfo(found);
    checked(listen(fd, backlog), "listen");
    return fd;
}

}  // namespace

int main() {
    try {
        Loop loop;
        Socket listener{listen_at(std::getenv("HOST"), std::getenv("PORT"))};
        loop.add(listener);
        Socket timer{checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), "timerfd_create")};
        loop.add(timer);
        accept(loop, listener, timer);
        loop.run();
    } catch (std::exception const& error) {
        std::fprintf(stderr, "the server ended: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
