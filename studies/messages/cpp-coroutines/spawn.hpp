// The work that creates tasks and joins them.

#pragma once

#include "../cpp/memory.hpp"
#include "../cpp/messages.hpp"
#include "channel.hpp"
#include "scheduler.hpp"

namespace messages {

inline Task wait_and_hand_back(Payload payload, Channel<Payload>& released,
                               Channel<Payload>& back) {
    co_await released.receive();
    co_await back.send(payload);
}

inline Task make_batches(Payloads& payloads, Account& account, Growth& memory,
                         Channel<Payload>& back) {
    for (auto is_over = false; !is_over;) {
        Channel<Payload> released;
        for (int task = 0; task < batch_length; ++task) {
            wait_and_hand_back(payloads(), released, back);
        }
        // Those before it in the queue begin, and wait.
        co_await Yield{};
        memory.all_are_alive(batch_length);
        released.close();
        for (int task = 0; task < batch_length; ++task) {
            is_over = !account.add(*co_await back.receive());
        }
    }
}

inline Result spawn(Payloads payloads, Account& account) {
    // Tasks of two threads hand back in any order, so that only whole batches are told.
    account.begin(batch_length);
    Growth memory;
    Channel<Payload> back;
    make_batches(payloads, account, memory, back);
    scheduler.run(cores());
    return memory.result();
}

}  // namespace messages
