// Tasks are event-based actors of CAF, the C++ Actor Framework, written as its manual has
// them: functions that return a behavior. What belongs together is linked, and so ends
// together.

#include <algorithm>
#include <caf/all.hpp>

#include "../cpp/messages.hpp"
#include "actors.hpp"
#include "spawn.hpp"

using namespace messages;
using caf::actor;
using caf::behavior;

// It stays in this process, so that nobody has to know how to write it down.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(Token)

namespace {

behavior round_sender(Self self, actor receiver, Payloads payloads) {
    return {[=](ConfirmedAtom) mutable {
        for (int sent = 0; sent < round_length; ++sent) {
            self->send(receiver, Payload(payloads()));
        }
        return DoneAtom::value;
    }};
}

behavior round_receiver(Self self, Account* account, Payloads payloads) {
    auto const sender = self->spawn<caf::linked>(round_sender, actor{self}, payloads);
    account->begin();
    self->send(sender, ConfirmedAtom::value);
    return {[=](Payload payload) { goes_on(self, account->add(payload)); },
            [=](DoneAtom) { return ConfirmedAtom::value; }};
}

behavior credit_sender(Self self, actor receiver, Payloads payloads) {
    return {[=](CreditAtom, int credit) mutable {
        for (; credit > 0; --credit) {
            self->send(receiver, Payload(payloads()));
        }
    }};
}

behavior credit_receiver(Self self, Account* account, Payloads payloads, int window) {
    auto const sender = self->spawn<caf::linked>(credit_sender, actor{self}, payloads);
    auto const half = std::max(window / 2, 1);
    account->begin();
    self->send(sender, CreditAtom::value, window);
    return {[=, used = 0](Payload payload) mutable {
        if (goes_on(self, account->add(payload)) && ++used == half) {
            self->send(sender, CreditAtom::value, used);
            used = 0;
        }
    }};
}

behavior pong() {
    return {[](Payload payload) { return payload; }};
}

behavior ping(Self self, Account* account, Payloads payloads) {
    auto const other = self->spawn<caf::linked>(pong);
    account->begin();
    self->send(other, Payload(payloads()));
    return {[=](Payload payload) mutable {
        if (goes_on(self, account->add(payload))) {
            self->send(other, Payload(payloads()));
        }
    }};
}

behavior hand_on(Self self, actor next) {
    return {[=](Token token) {
        token.hop();
        self->send(next, token);
    }};
}

behavior first_of_ring(Self self, Account* account, Payloads payloads) {
    actor next{self};
    for (int at = 1; at < ring_length; ++at) {
        next = self->spawn<caf::linked>(hand_on, next);
    }
    account->begin();
    self->send(next, Token{payloads});
    return {[=](Token token) {
        token.hop();
        if (goes_on(self, account->look(token.done, token.sum))) {
            self->send(next, token);
        }
    }};
}

}  // namespace

int main(int count, char** words) {
    return run(count, words,
               {{"oneway-unbounded", work<round_receiver>},
                {"oneway-1", work<credit_receiver, 1>},
                {"oneway-64", work<credit_receiver, 64>},
                {"oneway-1024", work<credit_receiver, 1024>},
                {"pingpong", work<ping>},
                {"ring", work<first_of_ring>},
                {"spawn", spawn}});
}
