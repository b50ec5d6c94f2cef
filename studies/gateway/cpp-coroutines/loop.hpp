// The least that coroutines take to wait for sockets: one thread, one epoll, and a queue of those
// that are ready.

#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

/// A coroutine that begins at once, and frees itself at its end.
struct Task {
    struct promise_type {
        Task get_return_object() { return {}; }
        std::suspend_never initial_suspend() { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

/// Where a coroutine that is suspended waits to be resumed: one at most.
class Place {
public:
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> task) { task_ = task; }
    void await_resume() const {}

    /// Who waits there, if anybody does, and doesn't any more.
    std::coroutine_handle<> take() { return std::exchange(task_, nullptr); }

    void resume() {
        if (auto const task = take()) {
            task.resume();
        }
    }

private:
    std::coroutine_handle<> task_;
};

/// What a system call returned.
inline int checked(int result, char const* what) {
    if (result < 0) {
        throw std::system_error(errno, std::generic_category(), what);
    }
    return result;
}

/// A socket that doesn't block. One coroutine reads, and lives as long as the loop knows the
/// socket; another may write.
struct Socket {
    explicit Socket(int fd) : fd{fd} {}
    ~Socket() { close(fd); }
    Socket(Socket const&) = delete;
    Socket& operator=(Socket const&) = delete;

    int const fd;
    Place readable;
    Place writable;
};

class Loop {
public:
    void add(Socket& socket) { control(EPOLL_CTL_ADD, socket, EPOLLIN); }
    void remove(Socket& socket) { control(EPOLL_CTL_DEL, socket, 0); }

    /// Whether it is told of once it can be written to as well.
    void watch_writing(Socket& socket, bool is_watched) {
        std::uint32_t events = EPOLLIN;
        if (is_watched) {
            events |= EPOLLOUT;
        }
        control(EPOLL_CTL_MOD, socket, events);
    }

    /// Who waits there goes on once all sockets that are ready were seen to.
    void go_on(Place& place) {
        if (auto const task = place.take()) {
            ready_.push_back(task);
        }
    }

    [[noreturn]] void run() {
        std::array<epoll_event, 512> events;
        for (;;) {
            auto const count = epoll_wait(epoll_, events.data(), events.size(), -1);
            for (int at = 0; at < count; ++at) {
                auto& socket = *static_cast<Socket*>(events[at].data.ptr);
                if (events[at].events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) {
                    socket.writable.resume();
                }
                // It comes last: at its end the socket may be gone.
                if (events[at].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
                    socket.readable.resume();
                }
            }
            for (auto const task : std::exchange(ready_, {})) {
                task.resume();
            }
        }
    }

private:
    void control(int operation, Socket& socket, std::uint32_t events) {
        epoll_event event{};
        event.events = events;
        event.data.ptr = &socket;
        checked(epoll_ctl(epoll_, operation, socket.fd, &event), "epoll_ctl");
    }

    int const epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    std::vector<std::coroutine_handle<>> ready_;
};
