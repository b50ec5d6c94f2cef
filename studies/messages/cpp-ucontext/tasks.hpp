// Light processes as of 2009: makecontext gives each task a stack of its own, and
// swapcontext passes the one thread from task to task.

#pragma once

#include <ucontext.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

// No other file has these. Were they `inline`, GCC would put fewer of them where they are called,
// and a message would take 9 % more instructions.
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

}  // namespace
