// The work that creates actors and waits for what they hand back.

#pragma once

#include <caf/all.hpp>
#include <tuple>
#include <vector>

#include "../cpp/memory.hpp"
#include "../cpp/messages.hpp"
#include "actors.hpp"

namespace messages {

/// It hands back its number as well: tasks end in any order.
inline caf::behavior wait_and_hand_back(Self self, int number, Payload payload) {
    return {[=](ReleaseAtom) {
        self->quit();
        return std::make_tuple(number, payload);
    }};
}

/// Makes tasks, and lets them go once all are alive.
inline void make_batch(Self self, Payloads& payloads, Growth& memory) {
    std::vector<caf::actor> tasks;
    for (int task = 0; task < batch_length; ++task) {
        tasks.push_back(self->spawn(wait_and_hand_back, task, Payload(payloads())));
    }
    memory.all_are_alive(batch_length);
    for (auto const& task : tasks) {
        self->send(task, ReleaseAtom::value);
    }
}

inline caf::behavior creator(Self self, Account* account, Payloads payloads, Result* result) {
    account->begin(batch_length);
    Growth memory;
    make_batch(self, payloads, memory);
    std::vector<Payload> in_order(batch_length);
    return {[=, back = 0](int number, Payload payload) mutable {
        in_order[number] = payload;
        if (++back % batch_length != 0) {
            return;
        }
        auto in_time = true;
        for (auto const each : in_order) {
            in_time = account->add(each);
        }
        if (goes_on(self, in_time)) {
            make_batch(self, payloads, memory);
        } else {
            *result = memory.result();
        }
    }};
}

inline Result spawn(Payloads payloads, Account& account) {
    Result result;
    run_actor(creator, &account, payloads, &result);
    return result;
}

}  // namespace messages
