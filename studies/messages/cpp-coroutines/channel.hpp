// A queue of messages, where a coroutine waits and leaves its thread to others.

#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>

#include "scheduler.hpp"

template <typename Message>
class Channel {
    /// Who sends or receives, and waits in the channel if need be.
    struct Passing : std::suspend_always {
        Passing(Channel& through, std::optional<Message> with) : channel{through}, message{with} {}

        Channel& channel;
        std::optional<Message> message;
        std::coroutine_handle<> task;
    };

    struct Sending : Passing {
        using Passing::Passing;
        bool await_suspend(std::coroutine_handle<> task) {
            this->task = task;
            return !this->channel.take_from(*this);
        }
        bool await_resume() const { return this->message.has_value(); }
    };

    struct Receiving : Passing {
        using Passing::Passing;
        bool await_suspend(std::coroutine_handle<> task) {
            this->task = task;
            return !this->channel.give_to(*this);
        }
        std::optional<Message> await_resume() const { return this->message; }
    };

public:
    explicit Channel(std::size_t capacity = std::numeric_limits<std::size_t>::max())
        : capacity_{capacity} {}

    /// False once the channel is closed.
    Sending send(Message message) { return {*this, message}; }

    /// Nothing once the channel is closed.
    Receiving receive() { return {*this, std::nullopt}; }

    void close() {
        std::unique_lock lock{mutex_};
        closed_ = true;
        queue_.clear();
        for (auto* waiting : {&senders_, &receivers_}) {
            for (auto* one : *waiting) {
                one->message.reset();
                scheduler.post(one->task);
            }
            waiting->clear();
        }
    }

    std::size_t size() {
        std::unique_lock lock{mutex_};
        return queue_.size();
    }

private:
    using Waiting = std::deque<Passing*>;

    static void wake_one(Waiting& waiting) {
        scheduler.post(waiting.front()->task);
        waiting.pop_front();
    }

    /// Whether that could be done at once.
    bool take_from(Passing& sender) {
        std::unique_lock lock{mutex_};
        if (closed_) {
            sender.message.reset();
        } else if (!receivers_.empty()) {
            receivers_.front()->message = sender.message;
            wake_one(receivers_);
        } else if (queue_.size() < capacity_) {
            queue_.push_back(*sender.message);
        } else {
            senders_.push_back(&sender);
            return false;
        }
        return true;
    }

    /// Whether that could be done at once.
    bool give_to(Passing& receiver) {
        std::unique_lock lock{mutex_};
        if (queue_.empty() && !closed_) {
            receivers_.push_back(&receiver);
            return false;
        }
        if (!queue_.empty()) {
            receiver.message = queue_.front();
            queue_.pop_front();
            if (!senders_.empty()) {
                queue_.push_back(*senders_.front()->message);
                wake_one(senders_);
            }
        }
        return true;
    }

    std::size_t const capacity_;
    std::mutex mutex_;
    std::deque<Message> queue_;
    Waiting senders_;
    Waiting receivers_;
    bool closed_ = false;
};
