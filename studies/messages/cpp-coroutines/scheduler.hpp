// The least that coroutines take to be tasks: a queue of who is ready, and threads that
// resume it.

#pragma once

#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

/// Resumes tasks in the order in which they became ready.
class Scheduler {
public:
    void post(std::coroutine_handle<> task) {
        std::unique_lock lock{mutex_};
        ready_.push_back(task);
        lock.unlock();
        changed_.notify_one();
    }

    void began() {
        std::unique_lock lock{mutex_};
        ++tasks_;
    }

    void ended() {
        std::unique_lock lock{mutex_};
        if (--tasks_ == 0) {
            changed_.notify_all();
        }
    }

    /// Until the last task has ended.
    void run(unsigned threads) {
        std::vector<std::jthread> others;
        for (unsigned thread = 1; thread < threads; ++thread) {
            others.emplace_back([this] { resume_tasks(); });
        }
        resume_tasks();
    }

private:
    void resume_tasks() {
        std::unique_lock lock{mutex_};
        for (;;) {
            changed_.wait(lock, [this] { return !ready_.empty() || tasks_ == 0; });
            if (ready_.empty()) {
                return;
            }
            auto const task = ready_.front();
            ready_.pop_front();
            lock.unlock();
            task.resume();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::coroutine_handle<>> ready_;
    std::size_t tasks_ = 0;
};

inline Scheduler scheduler;

/// To await it is to let the others that are ready go first.
struct Yield : std::suspend_always {
    void await_suspend(std::coroutine_handle<> task) const { scheduler.post(task); }
};

/// A coroutine that begins when it's its turn, and frees itself at its end.
struct Task {
    struct promise_type {
        promise_type() { scheduler.began(); }
        ~promise_type() { scheduler.ended(); }
        Task get_return_object() { return {}; }
        Yield initial_suspend() { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};
