%% Reads one of some keys: a payload says which. A key's value is the key itself, so that a
%% value that wasn't read is missing in the sum.
-module(keys).
-export([set_up/3]).
-include("payload.hrl").

-define(UNITS, 1000).

%% There are 2^N keys, because the bits of a payload are then the key, without a division.
set_up(By, Keys, Seed) -> {reads(By, lists:seq(0, Keys - 1), Keys - 1), Seed, []}.

reads("process-dictionary", Keys, Mask) ->
    [put(Key, Key) || Key <- Keys],
    fun(X) -> dictionary(?UNITS, Mask, X, 0) end;
reads("map", Keys, Mask) ->
    Map = maps:from_list([{Key, Key} || Key <- Keys]),
    fun(X) -> map(?UNITS, Map, Mask, X, 0) end;
reads("tuple", Keys, Mask) ->
    Tuple = list_to_tuple(Keys),
    fun(X) -> tuple(?UNITS, Tuple, Mask, X, 0) end;
reads("ets", Keys, Mask) ->
    Table = ets:new(keys, [set, {read_concurrency, true}]),
    ets:insert(Table, [{Key, Key} || Key <- Keys]),
    fun(X) -> ets(?UNITS, Table, Mask, X, 0) end;
reads("persistent-term", Keys, Mask) ->
    [persistent_term:put({?MODULE, Key}, Key) || Key <- Keys],
    fun(X) -> persistent_term(?UNITS, Mask, X, 0) end.

dictionary(0, _, X, Sum) -> {?UNITS, Sum, X};
dictionary(Left, Mask, Before, Sum) ->
    X = ?NEXT(Before),
    Key = X band Mask,
    dictionary(Left - 1, Mask, X, Sum + X - Key + get(Key)).

map(0, _, _, X, Sum) -> {?UNITS, Sum, X};
map(Left, Map, Mask, Before, Sum) ->
    X = ?NEXT(Before),
    Key = X band Mask,
    #{Key := Value} = Map,
    map(Left - 1, Map, Mask, X, Sum + X - Key + Value).

tuple(0, _, _, X, Sum) -> {?UNITS, Sum, X};
tuple(Left, Tuple, Mask, Before, Sum) ->
    X = ?NEXT(Before),
    Key = X band Mask,
    tuple(Left - 1, Tuple, Mask, X, Sum + X - Key + element(Key + 1, Tuple)).

ets(0, _, _, X, Sum) -> {?UNITS, Sum, X};
ets(Left, Table, Mask, Before, Sum) ->
    X = ?NEXT(Before),
    Key = X band Mask,
    ets(Left - 1, Table, Mask, X, Sum + X - Key + ets:lookup_element(Table, Key, 2)).

persistent_term(0, _, X, Sum) -> {?UNITS, Sum, X};
persistent_term(Left, Mask, Before, Sum) ->
    X = ?NEXT(Before),
    Key = X band Mask,
    persistent_term(Left - 1, Mask, X, Sum + X - Key + persistent_term:get({?MODULE, Key})).
