// The work that switches between two tasks, past scheduler and channels.

#pragma once

#include <coroutine>
#include <utility>

#include "../cpp/messages.hpp"
#include "scheduler.hpp"

namespace messages {

/// To await it is to hand the thread over to who is suspended, past the scheduler.
struct HandOver : std::suspend_always {
    explicit HandOver(std::coroutine_handle<>& to) : suspended{to} {}
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> task) noexcept {
        return std::exchange(suspended, task);
    }
    std::coroutine_handle<>& suspended;
};

inline Task take_turns(Payloads& payloads, Account& account, bool& is_over,
                       std::coroutine_handle<>& suspended) {
    while (!is_over) {
        is_over = !account.add(payloads());
        co_await HandOver{suspended};
    }
    // The other one has to see that it's over, and nobody has to see it twice.
    scheduler.post(std::exchange(suspended, std::noop_coroutine()));
}

inline Result bare_switch(Payloads payloads, Account& account) {
    auto is_over = false;
    std::coroutine_handle<> suspended = std::noop_coroutine();
    account.begin();
    take_turns(payloads, account, is_over, suspended);
    take_turns(payloads, account, is_over, suspended);
    scheduler.run(1);
    return {};
}

}  // namespace messages
