// Tasks are the fibers of Boost.Fiber, and messages pass through its buffered channels.
// The bare switch is that of Boost.Context, on which it stands.

#include <boost/context/fiber.hpp>
#include <boost/fiber/all.hpp>

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "../cpp/memory.hpp"
#include "../cpp/messages.hpp"
#include "beside.hpp"

namespace fibers = boost::fibers;
using namespace messages;

namespace {

template <typename Message>
using Channel = fibers::buffered_channel<Message>;

/// A channel holds one message fewer than this, which has to be a power of two.
constexpr std::size_t for_one = 2;

template <std::size_t capacity>
Result oneway(Payloads payloads, Account& account) {
    Channel<Payload> channel{capacity};
    account.begin();
    Beside const sender{[&] {
        while (channel.push(payloads()) == fibers::channel_op_status::success) {
        }
    }};
    while (account.add(channel.value_pop())) {
    }
    channel.close();
    return {};
}

Result pingpong(Payloads payloads, Account& account) {
    Channel<Payload> there{for_one};
    Channel<Payload> back{for_one};
    account.begin();
    Beside const pong{[&] {
        for (auto const payload : there) {
            back.push(payload);
        }
    }};
    do {
        there.push(payloads());
    } while (account.add(back.value_pop()));
    there.close();
    return {};
}

Result ring(Payloads payloads, Account& account) {
    std::deque<Channel<Token>> channels;
    for (int at = 0; at < ring_length; ++at) {
        channels.emplace_back(for_one);
    }
    auto const hand_on = [&](int first, int last) {
        std::vector<fibers::fiber> tasks;
        for (int at = first; at <= last; ++at) {
            tasks.emplace_back([&from = channels[at], &to = channels[(at + 1) % ring_length]] {
                for (auto token : from) {
                    token.hop();
                    to.push(token);
                }
            });
        }
        for (auto& task : tasks) {
            task.join();
        }
    };
    account.begin();
    Beside const second_half{[&] { hand_on(ring_length / 2, ring_length - 1); }};
    fibers::fiber first{[&] {
        Token token{payloads};
        do {
            channels[1].push(token);
            token = channels[0].value_pop();
            token.hop();
        } while (account.look(token.done, token.sum));
        for (auto& channel : channels) {
            channel.close();
        }
    }};
    hand_on(1, ring_length / 2 - 1);
    first.join();
    return {};
}

Result spawn(Payloads payloads, Account& account) {
    account.begin();
    Growth memory;
    for (auto is_over = false; !is_over;) {
        fibers::promise<void> release;
        auto const released = release.get_future().share();
        std::vector<fibers::future<Payload>> tasks;
        for (int task = 0; task < batch_length; ++task) {
            // Dispatched, it begins at once, and so waits when all are there.
            tasks.push_back(
                fibers::async(fibers::launch::dispatch, [released, payload = Payload(payloads())] {
                    released.wait();
                    return payload;
                }));
        }
        memory.all_are_alive(batch_length);
        release.set_value();
        for (auto& task : tasks) {
            auto const payload = task.get();
            is_over = is_over || !account.add(payload);
        }
    }
    return memory.result();
}

Result bare_switch(Payloads payloads, Account& account) {
    auto is_over = false;
    boost::context::fiber other{[&](boost::context::fiber&& one) {
        while (!is_over) {
            is_over = !account.add(payloads());
            one = std::move(one).resume();
        }
        return std::move(one);
    }};
    account.begin();
    while (!is_over && account.add(payloads())) {
        other = std::move(other).resume();
    }
    return {};
}

}  // namespace

int main(int count, char** words) {
    return run(count, words,
               {{"oneway-1", oneway<for_one>},
                {"oneway-64", oneway<64>},
                {"oneway-1024", oneway<1024>},
                {"pingpong", pingpong},
                {"ring", ring},
                {"spawn", spawn},
                {"switch", bare_switch}});
}
