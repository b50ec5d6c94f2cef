// Tasks are light processes on one thread, which a queue passes messages between.

#include <ucontext.h>

#include <deque>

#include "../cpp/blocking.hpp"
#include "../cpp/memory.hpp"
#include "../cpp/messages.hpp"
#include "channel.hpp"
#include "tasks.hpp"

using namespace messages;

namespace {

Result spawn(Payloads payloads, Account& account) {
    account.begin();
    Growth memory;
    for (auto is_over = false; !is_over;) {
        Waiting released;
        std::deque<Payload> handed_back(batch_length);
        std::deque<Task> tasks;
        for (auto& to : handed_back) {
            tasks.emplace_back([&to, &released, payload = Payload(payloads())] {
                wait_in(released);
                to = payload;
            });
        }
        memory.all_are_alive(batch_length);
        wake_all(released);
        for (int at = 0; at < batch_length; ++at) {
            tasks[at].join();
            is_over = is_over || !account.add(handed_back[at]);
        }
    }
    return memory.result();
}

/// Two tasks that hand over to each other, past the queue of who is ready.
Result bare_switch(Payloads payloads, Account& account) {
    auto is_over = false;
    Task other{[&, &one = *running] {
        switch_to_next();
        for (;;) {
            is_over = !account.add(payloads());
            swapcontext(&other.context, &one.context);
        }
    }};
    account.begin();
    while (!is_over && account.add(payloads())) {
        swapcontext(&running->context, &other.context);
    }
    return {};
}

}  // namespace

int main(int count, char** words) {
    auto works = blocking_works<Channel, Task>();
    works["spawn"] = spawn;
    works["switch"] = bare_switch;
    return messages::run(count, words, works);
}
