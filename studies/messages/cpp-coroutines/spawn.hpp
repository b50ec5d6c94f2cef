// The work that creates tasks and joins them.

#pragma once

#include <cstddef>
#include <vector>

#include "../cpp/memory.hpp"
#include "../cpp/messages.hpp"
#include "channel.hpp"
#include "scheduler.hpp"

namespace messages {

/// What a task hands back, with its number: two threads hand back in any order.
struct HandedBack {
    std::size_t number;
    Payload payload;
};

inline Task wait_and_hand_back(HandedBack handed_back, Channel<Payload>& released,
                               Channel<HandedBack>& back) {
    co_await released.receive();
    co_await back.send(handed_back);
}

inline Task make_batches(Payloads& payloads, Account& account, Growth& memory,
                         Channel<HandedBack>& back) {
    std::vector<Payload> in_order(batch_length);
    for (auto is_over = false; !is_over;) {
        Channel<Payload> released;
        for (std::size_t task = 0; task < batch_length; ++task) {
            wait_and_hand_back({task, Payload(payloads())}, released, back);
        }
        // Those before it in the queue begin, and wait.
        co_await Yield{};
        memory.all_are_alive(batch_length);
        released.close();
        for (int task = 0; task < batch_length; ++task) {
            auto const handed_back = *co_await back.receive();
            in_order[handed_back.number] = handed_back.payload;
        }
        for (auto const payload : in_order) {
            is_over = !account.add(payload);
        }
    }
}

inline Result spawn(Payloads payloads, Account& account) {
    account.begin(batch_length);
    Growth memory;
    Channel<HandedBack> back;
    make_batches(payloads, account, memory, back);
    scheduler.run(cores());
    return memory.result();
}

}  // namespace messages
