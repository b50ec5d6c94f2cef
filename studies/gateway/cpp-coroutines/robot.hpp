// A robot: what waits for it, and the coroutine that writes it.

#pragma once

#include "loop.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

/// Frames that came together, each with its length before it, shared by all to whom they go.
using Frames = std::shared_ptr<std::string const>;

struct Room;

class Robot {
public:
    Robot(Loop& loop, int fd) : socket{fd}, loop_{loop} { loop.add(socket); }

    Socket socket;
    /// Where it is; none before it has joined.
    Room* room = nullptr;

    /// Has frames wait for the robot until all sockets that are ready were seen to: so what comes
    /// together goes out together. One who reads so slowly that too much waits is cut.
    void send(Frames const& frames) {
        waiting_.push_back(frames);
        waiting_bytes_ += frames->size();
        if (waiting_bytes_ > waiting_max) {
            cut();
        }
        loop_.go_on(idle_);
    }

    /// Both coroutines end: the one that reads sees it, and calls `leave`.
    void cut() { shutdown(socket.fd, SHUT_RDWR); }

    /// The coroutine that writes is to end.
    void leave() {
        has_left_ = true;
        loop_.go_on(idle_);
        loop_.go_on(socket.writable);
    }

    /// Writes what waits, until the robot has left or its connection fails.
    static Task write(std::shared_ptr<Robot> robot) {
        for (;;) {
            if (robot->has_left_) {
                co_return;
            }
            if (robot->waiting_.empty()) {
                co_await robot->idle_;
            } else if (!robot->write_some()) {
                if (errno != EAGAIN) {
                    robot->cut();
                    co_return;
                }
                robot->loop_.watch_writing(robot->socket, true);
                co_await robot->socket.writable;
                robot->loop_.watch_writing(robot->socket, false);
            }
        }
    }

private:
    /// More bytes wait for nobody.
    static constexpr std::size_t waiting_max = 1 << 20;
    /// Written by one call.
    static constexpr std::size_t parts_max = 64;

    /// Writes as much of what waits as the kernel takes. False where it takes nothing, and `errno`
    /// says why.
    bool write_some() {
        std::array<iovec, parts_max> parts;
        auto const count = std::min(waiting_.size(), parts_max);
        for (std::size_t at = 0; at < count; ++at) {
            auto const done = at == 0 ? first_done_ : 0;
            auto const& frames = *waiting_[at];
            // The kernel only reads there, as sendmsg(2) doesn't say by its types.
            parts[at] = {const_cast<char*>(frames.data()) + done, frames.size() - done};
        }
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = count;
        auto const sent = sendmsg(socket.fd, &message, MSG_NOSIGNAL);
        if (sent < 0) {
            return errno == EINTR;
        }
        first_done_ += static_cast<std::size_t>(sent);
        waiting_bytes_ -= static_cast<std::size_t>(sent);
        auto whole = waiting_.begin();
        for (; whole != waiting_.end() && first_done_ >= (*whole)->size(); ++whole) {
            first_done_ -= (*whole)->size();
        }
        waiting_.erase(waiting_.begin(), whole);
        return true;
    }

    Loop& loop_;
    /// Where the coroutine that writes waits for something to write.
    Place idle_;
    std::vector<Frames> waiting_;
    /// Of all that waits, what of the first has gone not among it.
    std::size_t waiting_bytes_ = 0;
    /// Bytes of the first of those that have gone already.
    std::size_t first_done_ = 0;
    bool has_left_ = false;
};
