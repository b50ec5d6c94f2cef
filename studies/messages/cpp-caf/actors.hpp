// How actors begin and end, and what they say to one another beside payloads.

#pragma once

#include <caf/all.hpp>

#include "../cpp/messages.hpp"

using CreditAtom = caf::atom_constant<caf::atom("credit")>;
using DoneAtom = caf::atom_constant<caf::atom("done")>;
using ConfirmedAtom = caf::atom_constant<caf::atom("confirmed")>;
using ReleaseAtom = caf::atom_constant<caf::atom("release")>;

using Self = caf::event_based_actor*;

/// Runs an actor, and whatever it spawns, until all have ended.
template <typename... Arguments>
void run_actor(Arguments... arguments) {
    caf::actor_system_config config;
    config.set("scheduler.max-threads", messages::cores());
    caf::actor_system system{config};
    system.spawn(arguments...);
}

/// A work that begins with an actor.
template <auto actor_function, auto... arguments>
messages::Result work(messages::Payloads payloads, messages::Account& account) {
    run_actor(actor_function, &account, payloads, arguments...);
    return {};
}

/// Once the time is over, ends an actor and all that are linked to it.
inline bool goes_on(Self self, bool in_time) {
    if (!in_time) {
        self->quit(caf::exit_reason::user_shutdown);
    }
    return in_time;
}
