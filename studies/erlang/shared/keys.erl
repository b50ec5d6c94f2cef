%% Reads four of some keys: a payload says which. A key's value is the key itself, so that a
%% value that wasn't read is missing in the sum. They are four, because making a payload takes
%% about as long as the fastest read does.
-module(keys).
-export([set_up/3]).
-compile({inline, [four/2]}).
-include("payload.hrl").

-define(UNITS, 1000).

%% There are 2^N keys, so that a key is N bits of a payload: a division would cost more.
set_up(By, Keys, Seed) -> {reads(By, lists:seq(0, Keys - 1), Keys - 1), Seed, fun(_) -> [] end}.

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
    fun(X) -> terms(?UNITS, Mask, X, 0) end;
reads("persistent-map", Keys, Mask) ->
    persistent_term:put(?MODULE, maps:from_list([{Key, Key} || Key <- Keys])),
    fun(X) -> persistent_map(?UNITS, Mask, X, 0) end.

four(X, Mask) ->
    {X band Mask, (X bsr 5) band Mask, (X bsr 10) band Mask, (X bsr 15) band Mask}.

dictionary(0, _, X, Sum) -> {?UNITS, Sum, X};
dictionary(Left, Mask, Before, Sum) ->
    X = ?NEXT(Before),
    {A, B, C, D} = four(X, Mask),
    Differs = get(A) - A + get(B) - B + get(C) - C + get(D) - D,
    dictionary(Left - 1, Mask, X, Sum + X + Differs).

map(0, _, _, X, Sum) -> {?UNITS, Sum, X};
map(Left, Map, Mask, Before, Sum) ->
    X = ?NEXT(Before),
    {A, B, C, D} = four(X, Mask),
    #{A := OfA, B := OfB, C := OfC, D := OfD} = Map,
    Differs = OfA - A + OfB - B + OfC - C + OfD - D,
    map(Left - 1, Map, Mask, X, Sum + X + Differs).

%% A tuple's first element has the number 1.
tuple(0, _, _, X, Sum) -> {?UNITS, Sum, X};
tuple(Left, Tuple, Mask, Before, Sum) ->
    X = ?NEXT(Before),
    {A, B, C, D} = four(X, Mask),
    Differs = element(A + 1, Tuple) - A + element(B + 1, Tuple) - B + element(C + 1, Tuple) - C
        + element(D + 1, Tuple) - D,
    tuple(Left - 1, Tuple, Mask, X, Sum + X + Differs).

ets(0, _, _, X, Sum) -> {?UNITS, Sum, X};
ets(Left, Table, Mask, Before, Sum) ->
    X = ?NEXT(Before),
    {A, B, C, D} = four(X, Mask),
    Differs = ets:lookup_element(Table, A, 2) - A + ets:lookup_element(Table, B, 2) - B
        + ets:lookup_element(Table, C, 2) - C + ets:lookup_element(Table, D, 2) - D,
    ets(Left - 1, Table, Mask, X, Sum + X + Differs).

terms(0, _, X, Sum) -> {?UNITS, Sum, X};
terms(Left, Mask, Before, Sum) ->
    X = ?NEXT(Before),
    {A, B, C, D} = four(X, Mask),
    Differs = persistent_term:get({?MODULE, A}) - A + persistent_term:get({?MODULE, B}) - B
        + persistent_term:get({?MODULE, C}) - C + persistent_term:get({?MODULE, D}) - D,
    terms(Left - 1, Mask, X, Sum + X + Differs).

%% It is fetched for each key, as whoever reads one key has to.
persistent_map(0, _, X, Sum) -> {?UNITS, Sum, X};
persistent_map(Left, Mask, Before, Sum) ->
    X = ?NEXT(Before),
    {A, B, C, D} = four(X, Mask),
    #{A := OfA} = persistent_term:get(?MODULE),
    #{B := OfB} = persistent_term:get(?MODULE),
    #{C := OfC} = persistent_term:get(?MODULE),
    #{D := OfD} = persistent_term:get(?MODULE),
    Differs = OfA - A + OfB - B + OfC - C + OfD - D,
    persistent_map(Left - 1, Mask, X, Sum + X + Differs).
