// Light processes as of 2009: makecontext gives each task a stack of its own, and
// swapcontext passes the one thread from task to task.

#include <ucontext.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "../cpp/blocking.hpp"
#include "../cpp/messages.hpp"

using namespace messages;

namespace {

constexpr std::size_t stack_bytes = 64 * 1024;

class Task {
public:
    /// The program itself, which has the thread's own stack.
    Task() = default;

    /// Begins at once; who makes it goes on when it's its turn again.
    explicit Task(std::function<void()> work);

    /// Lets the others go on until it's done.
    void join();

    ucontext_t context;

private:
    static void run();

    std::function<void()> work_;
    std::unique_ptr<std::byte[]> stack_;
    bool is_done_ = false;
};

using Waiting = std::deque<Task*>;

/// Who waits for nothing but the thread.
Waiting ready;
Task program;
Task* running = &program;

void switch_to_next() {
    auto* const from = std::exchange(running, ready.front());
    ready.pop_front();
    swapcontext(&from->context, &running->context);
}

void wait_in(Waiting& waiting) {
    waiting.push_back(running);
    switch_to_next();
}

void wake_one(Waiting& waiting) {
    if (!waiting.empty()) {
        ready.push_back(waiting.front());
        waiting.pop_front();
    }
}

void wake_all(Waiting& waiting) {
    ready.insert(ready.end(), waiting.begin(), waiting.end());
    waiting.clear();
}

Task::Task(std::function<void()> work)
    : work_{std::move(work)}, stack_{std::make_unique_for_overwrite<std::byte[]>(stack_bytes)} {
    getcontext(&context);
    context.uc_stack.ss_sp = stack_.get();
    context.uc_stack.ss_size = stack_bytes;
    makecontext(&context, run, 0);
    ready.push_front(this);
    wait_in(ready);
}

void Task::run() {
    running->work_();
    running->is_done_ = true;
    switch_to_next();
}

void Task::join() {
    while (!is_done_) {
        wait_in(ready);
    }
}

template <typename Message>
class Channel {
public:
    explicit Channel(std::size_t capacity = unbounded) : capacity_{capacity} {}

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
