// What the C++ contenders share: the arguments, the payloads, and the lines that tell
// of the work. How messages pass is each contender's own.

#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>

namespace messages {

using Payload = std::uint32_t;
/// The standard's own generator is the study's.
using Payloads = std::minstd_rand;
using Result = std::map<std::string, std::uint64_t>;

/// What a round of `oneway-unbounded` sends before it waits for the receiver.
constexpr int round_length = 1'000'000;
/// After a round's last payload; no payload is 0.
constexpr Payload round_done = 0;
constexpr int ring_length = 1'000;
/// The tasks of `spawn` that live at once, where they aren't threads.
constexpr int batch_length = 10'000;
/// Between two looks at the clock, which a look shall not slow down.
constexpr std::uint64_t units_between_looks = 1'000;

/// The sum after one more payload, modulo 2^32. Each place weighs 31 times as much as the next, so
/// that payloads in another order have another sum.
constexpr std::uint32_t after(std::uint32_t sum, Payload payload) { return sum * 31 + payload; }

/// What goes round in `ring`.
struct Token {
    Payloads payloads;
    std::uint64_t done = 0;
    std::uint32_t sum = 0;

    /// A hop, which the task that received it counts.
    void hop() {
        ++done;
        sum = after(sum, static_cast<Payload>(payloads()));
    }
};

/// Sums what was received, in its order, and tells it every 200 ms until the time is over.
class Account {
public:
    explicit Account(double seconds) : seconds_{seconds} {}

    /// Says that all is set up, and begins the time.
    void begin(std::uint64_t between_looks = units_between_looks) {
        between_looks_ = look_at_ = between_looks;
        std::puts(R"({"ready": true})");
        std::fflush(stdout);
        began_ = told_ = Clock::now();
    }

    /// Adds a unit; false once the time is over.
    bool add(Payload payload) {
        ++done_;
        sum_ = after(sum_, payload);
        if (done_ < look_at_) {
            return true;
        }
        look_at_ += between_looks_;
        return look(done_, sum_);
    }

    /// Looks at the clock, and tells the work that is done if it's time to; false once
    /// the time is over.
    bool look(std::uint64_t done, std::uint32_t sum) {
        auto const now = Clock::now();
        std::chrono::duration<double> const t = now - began_;
        auto const is_over = t >= seconds_;
        if (is_over || now - told_ >= std::chrono::milliseconds{200}) {
            std::printf("{\"t\": %.6f, \"done\": %ju, \"sum\": %ju}\n", t.count(),
                        std::uintmax_t{done}, std::uintmax_t{sum});
            std::fflush(stdout);
            told_ = now;
        }
        return !is_over;
    }

private:
    using Clock = std::chrono::steady_clock;

    std::chrono::duration<double> seconds_;
    Clock::time_point began_;
    Clock::time_point told_;
    std::uint64_t done_ = 0;
    std::uint32_t sum_ = 0;
    std::uint64_t between_looks_ = 0;
    std::uint64_t look_at_ = 0;
};

using Work = std::function<Result(Payloads, Account&)>;

/// How many processors this process may use.
inline unsigned cores() {
    auto const* value = std::getenv("CORES");
    return value == nullptr ? 1 : static_cast<unsigned>(std::stoul(value));
}

/// Does the work that the command line asks for.
inline int run(int count, char** words, std::map<std::string, Work> const& works) {
    try {
        std::map<std::string, std::string> asked;
        for (int at = 1; at + 1 < count; at += 2) {
            asked[words[at]] = words[at + 1];
        }
        Account account{std::stod(asked.at("--seconds"))};
        Payloads const payloads{std::stoul(asked.at("--seed"))};
        auto const work = works.find(asked.at("--does"));
        if (work == works.end()) {
            throw std::invalid_argument("this contender doesn't do " + asked.at("--does"));
        }
        auto const result = work->second(payloads, account);
        std::string figures;
        for (auto const& [name, value] : result) {
            figures += (figures.empty() ? "\"" : ", \"") + name + "\": " + std::to_string(value);
        }
        std::printf("{\"result\": {%s}}\n", figures.c_str());
        return EXIT_SUCCESS;
    } catch (std::out_of_range const&) {
        std::fputs("it takes --does WORK --seed N --seconds S\n", stderr);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "the work ended: %s\n", error.what());
    }
    return EXIT_FAILURE;
}

}  // namespace messages
