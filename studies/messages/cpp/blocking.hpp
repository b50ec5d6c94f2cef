// The works of tasks that have stacks of their own, where to send and to receive is a
// call that waits: of threads, and of what looks like them.
//
// Channel<Message>: send() is false and receive() is nothing once it's closed.
// Task: does what it's made of, and has join().

#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <vector>

#include "messages.hpp"

namespace messages {

/// The capacity of a queue that is never full.
constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

template <template <typename> typename Channel, typename Task, std::uint64_t between_looks>
Result oneway_unbounded(Payloads payloads, Account& account) {
    Channel<Payload> channel;
    Channel<Payload> confirmed;
    std::size_t longest_queue = 0;
    account.begin(between_looks);
    Task sender{[&] {
        do {
            for (int sent = 1; sent <= round_length && channel.send(payloads()); ++sent) {
                if (sent % 1'000 == 0) {
                    longest_queue = std::max(longest_queue, channel.size());
                }
            }
            channel.send(round_done);
        } while (confirmed.receive());
    }};
    while (auto const payload = channel.receive()) {
        if (*payload == round_done) {
            confirmed.send(round_done);
        } else if (!account.add(*payload)) {
            break;
        }
    }
    channel.close();
    confirmed.close();
    sender.join();
    return {{"longest_queue", longest_queue}};
}

template <template <typename> typename Channel, typename Task, std::uint64_t between_looks,
          std::size_t window>
Result oneway(Payloads payloads, Account& account) {
    Channel<Payload> channel{window};
    account.begin(between_looks);
    Task sender{[&] {
        while (channel.send(payloads())) {
        }
    }};
    while (account.add(*channel.receive())) {
    }
    channel.close();
    sender.join();
    return {};
}

template <template <typename> typename Channel, typename Task, std::uint64_t between_looks>
Result pingpong(Payloads payloads, Account& account) {
    Channel<Payload> there;
    Channel<Payload> back;
    account.begin(between_looks);
    Task pong{[&] {
        while (auto const payload = there.receive()) {
            back.send(*payload);
        }
    }};
    do {
        there.send(payloads());
    } while (account.add(*back.receive()));
    there.close();
    pong.join();
    return {};
}

template <template <typename> typename Channel, typename Task>
Result ring(Payloads payloads, Account& account) {
    std::vector<Channel<Token>> channels(ring_length);
    std::deque<Task> others;
    for (int at = 1; at < ring_length; ++at) {
        others.emplace_back([&from = channels[at], &to = channels[(at + 1) % ring_length]] {
            while (auto token = from.receive()) {
                token->hop();
                to.send(*token);
            }
        });
    }
    account.begin();
    Token token{payloads};
    do {
        channels[1].send(token);
        token = *channels[0].receive();
        token.hop();
    } while (account.look(token.done, token.sum));
    for (auto& channel : channels) {
        channel.close();
    }
    for (auto& other : others) {
        other.join();
    }
    return {};
}

/// All works that need no more than channels.
template <template <typename> typename Channel, typename Task,
          std::uint64_t between_looks = units_between_looks>
std::map<std::string, Work> blocking_works() {
    return {{"oneway-unbounded", oneway_unbounded<Channel, Task, between_looks>},
            {"oneway-1", oneway<Channel, Task, between_looks, 1>},
            {"oneway-64", oneway<Channel, Task, between_looks, 64>},
            {"oneway-1024", oneway<Channel, Task, between_looks, 1024>},
            {"pingpong", pingpong<Channel, Task, between_looks>},
            {"ring", ring<Channel, Task>}};
}

}  // namespace messages
