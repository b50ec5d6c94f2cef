// A queue of messages, where a task waits and leaves the thread to others.

#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <optional>

#include "tasks.hpp"

template <typename Message>
class Channel {
public:
    explicit Channel(std::size_t capacity = std::numeric_limits<std::size_t>::max())
        : capacity_{capacity} {}

    /// False once the channel is closed.
    bool send(Message message) {
        while (queue_.size() >= capacity_ && !closed_) {
            wait_in(senders_);
        }
        if (!closed_) {
            queue_.push_back(message);
            wake_one(receivers_);
        }
        return !closed_;
    }

    /// Nothing once the channel is closed.
    std::optional<Message> receive() {
        while (queue_.empty() && !closed_) {
            wait_in(receivers_);
        }
        if (closed_) {
            return std::nullopt;
        }
        auto const message = queue_.front();
        queue_.pop_front();
        wake_one(senders_);
        return message;
    }

    void close() {
        closed_ = true;
        wake_all(senders_);
        wake_all(receivers_);
    }

    std::size_t size() const { return queue_.size(); }

private:
    std::size_t const capacity_;
    std::deque<Message> queue_;
    Waiting senders_;
    Waiting receivers_;
    bool closed_ = false;
};
