// Tasks are threads, as the standard library has them, and messages pass through a queue
// with a mutex and two condition variables.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <future>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "../cpp/blocking.hpp"
#include "../cpp/memory.hpp"
#include "../cpp/messages.hpp"

using namespace messages;

namespace {

constexpr int threads_at_once = 1'000;
/// A switch of threads takes microseconds: the clock may be looked at more often.
constexpr std::uint64_t between_looks = 100;

template <typename Message>
class Channel {
public:
    explicit Channel(std::size_t capacity = unbounded) : capacity_{capacity} {}

    /// False once the channel is closed.
    bool send(Message message) {
        std::unique_lock lock{mutex_};
        not_full_.wait(lock, [this] { return queue_.size() < capacity_ || closed_; });
        if (closed_) {
            return false;
        }
        queue_.push_back(message);
        lock.unlock();
        not_empty_.notify_one();
        return true;
    }

    /// Nothing once the channel is closed.
    std::optional<Message> receive() {
        std::unique_lock lock{mutex_};
        not_empty_.wait(lock, [this] { return !queue_.empty() || closed_; });
        if (closed_) {
            return std::nullopt;
        }
        auto const message = queue_.front();
        queue_.pop_front();
        lock.unlock();
        not_full_.notify_one();
        return message;
    }

    void close() {
        std::unique_lock lock{mutex_};
        closed_ = true;
        not_full_.notify_all();
        not_empty_.notify_all();
    }

    std::size_t size() {
        std::unique_lock lock{mutex_};
        return queue_.size();
    }

private:
    std::size_t const capacity_;
    std::mutex mutex_;
    std::condition_variable not_full_;
    std::condition_variable not_empty_;
    std::deque<Message> queue_;
    bool closed_ = false;
};

Result spawn(Payloads payloads, Account& account) {
    account.begin(between_looks);
    Growth memory;
    for (auto is_over = false; !is_over;) {
        std::latch alive{threads_at_once};
        std::latch release{1};
        std::vector<std::future<Payload>> tasks;
        for (int at = 0; at < threads_at_once; ++at) {
            tasks.push_back(std::async(std::launch::async, [&, payload = payloads()] {
                alive.count_down();
                release.wait();
                return static_cast<Payload>(payload);
            }));
        }
        alive.wait();
        memory.all_are_alive(threads_at_once);
        release.count_down();
        for (auto& task : tasks) {
            auto const payload = task.get();
            is_over = is_over || !account.add(payload);
        }
    }
    return memory.result();
}

}  // namespace

int main(int count, char** words) {
    auto works = blocking_works<Channel, std::thread, between_looks>();
    works["spawn"] = spawn;
    return run(count, words, works);
}
