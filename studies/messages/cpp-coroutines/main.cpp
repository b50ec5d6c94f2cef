// Tasks are coroutines of C++20, on a scheduler of a few lines: the standard brings the
// language for them, and leaves the rest to libraries.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../cpp/messages.hpp"
#include "channel.hpp"
#include "scheduler.hpp"
#include "spawn.hpp"
#include "switch.hpp"

using namespace messages;

namespace {

// Where a loop's condition would be nothing but a co_await, that has a line of its own: such
// loops GCC 12.2 compiles wrongly.

Task send(Payloads& payloads, Channel<Payload>& channel) {
    for (auto is_open = true; is_open;) {
        is_open = co_await channel.send(payloads());
    }
}

Task send_rounds(Payloads& payloads, Channel<Payload>& channel, Channel<Payload>& confirmed,
                 std::size_t& longest_queue) {
    for (auto is_open = true; is_open;) {
        for (int sent = 1; sent <= round_length && is_open; ++sent) {
            is_open = co_await channel.send(payloads());
            if (sent % 1'000 == 0) {
                longest_queue = std::max(longest_queue, channel.size());
            }
        }
        co_await channel.send(round_done);
        auto const confirmation = co_await confirmed.receive();
        is_open = confirmation.has_value();
    }
}

Task receive(Account& account, Channel<Payload>& channel, Channel<Payload>& confirmed) {
    while (auto const payload = co_await channel.receive()) {
        if (*payload == round_done) {
            co_await confirmed.send(round_done);
        } else if (!account.add(*payload)) {
            break;
        }
    }
    channel.close();
    confirmed.close();
}

Result oneway_unbounded(Payloads payloads, Account& account) {
    Channel<Payload> channel;
    Channel<Payload> confirmed;
    std::size_t longest_queue = 0;
    account.begin();
    send_rounds(payloads, channel, confirmed, longest_queue);
    receive(account, channel, confirmed);
    scheduler.run(cores());
    return {{"longest_queue", longest_queue}};
}

template <std::size_t window>
Result oneway(Payloads payloads, Account& account) {
    Channel<Payload> channel{window};
    Channel<Payload> confirmed;
    account.begin();
    send(payloads, channel);
    receive(account, channel, confirmed);
    scheduler.run(cores());
    return {};
}

Task ping(Payloads& payloads, Account& account, Channel<Payload>& there, Channel<Payload>& back) {
    co_await there.send(payloads());
    while (auto const payload = co_await back.receive()) {
        if (!account.add(*payload)) {
            break;
        }
        co_await there.send(payloads());
    }
    there.close();
}

Task pong(Channel<Payload>& there, Channel<Payload>& back) {
    while (auto const payload = co_await there.receive()) {
        co_await back.send(*payload);
    }
}

Result pingpong(Payloads payloads, Account& account) {
    Channel<Payload> there;
    Channel<Payload> back;
    account.begin();
    ping(payloads, account, there, back);
    pong(there, back);
    scheduler.run(cores());
    return {};
}

Task go_round(Payloads& payloads, Account& account, std::vector<Channel<Token>>& channels) {
    Token token{payloads};
    do {
        co_await channels[1].send(token);
        token = *co_await channels[0].receive();
        token.hop();
    } while (account.look(token.done, token.sum));
    for (auto& channel : channels) {
        channel.close();
    }
}

Task hand_on(Channel<Token>& from, Channel<Token>& to) {
    while (auto token = co_await from.receive()) {
        token->hop();
        co_await to.send(*token);
    }
}

Result ring(Payloads payloads, Account& account) {
    std::vector<Channel<Token>> channels(ring_length);
    for (int at = 1; at < ring_length; ++at) {
        hand_on(channels[at], channels[(at + 1) % ring_length]);
    }
    account.begin();
    go_round(payloads, account, channels);
    scheduler.run(cores());
    return {};
}

}  // namespace

int main(int count, char** words) {
    return run(count, words,
               {{"oneway-unbounded", oneway_unbounded},
                {"oneway-1", oneway<1>},
                {"oneway-64", oneway<64>},
                {"oneway-1024", oneway<1024>},
                {"pingpong", pingpong},
                {"ring", ring},
                {"spawn", spawn},
                {"switch", bare_switch}});
}
