%% Gives messages of eight tags to a function, whose clauses for them are in one order or
%% another.
-module(clauses).
-export([set_up/2]).
-include("payload.hrl").

-define(UNITS, 1000).

set_up("grouped", Seed) -> {gives(fun clauses_grouped:handle/1), Seed, fun(_) -> [] end};
set_up("interleaved", Seed) -> {gives(fun clauses_interleaved:handle/1), Seed, fun(_) -> [] end};
set_up("split", Seed) -> {gives(fun clauses_split:handle/1), Seed, fun(_) -> [] end}.

gives(Handle) ->
    Tags = {enter, leave, say, move, take, drop, trade, ask},
    fun(X) -> give(?UNITS, Handle, Tags, X, 0) end.

%% The last five bits of a payload are the number of a clause, which the clause adds to it.
give(0, _, _, X, Sum) -> {?UNITS, Sum, X};
give(Left, Handle, Tags, Before, Sum) ->
    X = ?NEXT(Before),
    Tag = element((X band 7) + 1, Tags),
    Kind = (X bsr 3) band 3,
    give(Left - 1, Handle, Tags, X, Sum + Handle({Tag, Kind, X}) - (X band 31)).
