%% A table of rows `{Key, Name, Number}`: looked up, or changed, by a key that a payload says.
-module(rows).
-export([look_up/3, update/3]).
-include("payload.hrl").

-define(UNITS, 1000).

look_up(By, Count, Seed) ->
    {Bytes, Rows} = weighed(By, Count),
    Find = finds(By),
    Step = fun(X) -> find(?UNITS, Find, Rows, Count, X, 0) end,
    {Step, Seed, fun(_) -> [{bytes_each, Bytes}, {gc_ms, collect(Find, Rows)}] end}.

update(By, Count, Seed) ->
    {Bytes, Rows} = weighed(By, Count),
    {Find, Change, Units} = {finds(By), changes(By), units(By)},
    Step = fun({Before, X}) -> change(Units, Change, Find, Before, Count, X, 0, 0) end,
    Result = fun({Left, _}) -> [{bytes_each, Bytes}, {gc_ms, collect(Find, Left)}] end,
    {Step, {Rows, Seed}, Result}.

%% The milliseconds that this process stands still while all of its heap is collected.
collect(Find, Rows) ->
    Begun = erlang:monotonic_time(microsecond),
    erlang:garbage_collect(),
    Ms = (erlang:monotonic_time(microsecond) - Begun) / 1000,
    %% Rows that nobody reads any more would have been thrown away, not looked at.
    {0, _, _} = Find(0, Rows),
    Ms.

%% An update copies a tuple whole: of a million rows that takes milliseconds.
units("tuple") -> 10;
units(_) -> ?UNITS.

%% The rows, and the bytes of one.
weighed(By, Count) ->
    erlang:garbage_collect(),
    Before = erlang:memory(total),
    Rows = table(By, [{Key, <<Key:128>>, Key} || Key <- lists:seq(0, Count - 1)]),
    erlang:garbage_collect(),
    {(erlang:memory(total) - Before) div Count, Rows}.

table("list", Rows) -> Rows;
table("tuple", Rows) -> list_to_tuple(Rows);
table("array", Rows) -> array:from_list(Rows);
table("map", Rows) -> maps:from_list([{Key, Row} || Row = {Key, _, _} <- Rows]);
table("ets", Rows) ->
    Table = ets:new(rows, [set]),
    ets:insert(Table, Rows),
    Table.

finds("list") -> fun(Key, List) -> lists:keyfind(Key, 1, List) end;
finds("tuple") -> fun(Key, Tuple) -> element(Key + 1, Tuple) end;
finds("array") -> fun(Key, Array) -> array:get(Key, Array) end;
finds("map") -> fun(Key, Map) -> #{Key := Row} = Map, Row end;
finds("ets") -> fun(Key, Table) -> hd(ets:lookup(Table, Key)) end.

%% How a row gets another number.
changes("ets") ->
    fun(Key, Number, Table) ->
        ets:update_element(Table, Key, {3, Number}),
        Table
    end;
changes(By) ->
    {Find, Replace} = {finds(By), replaces(By)},
    fun(Key, Number, Rows) -> Replace(Key, setelement(3, Find(Key, Rows), Number), Rows) end.

replaces("list") -> fun(Key, Row, List) -> lists:keyreplace(Key, 1, List, Row) end;
replaces("tuple") -> fun(Key, Row, Tuple) -> setelement(Key + 1, Tuple, Row) end;
replaces("array") -> fun(Key, Row, Array) -> array:set(Key, Row, Array) end;
replaces("map") -> fun(Key, Row, Map) -> Map#{Key := Row} end.

find(0, _, _, _, X, Sum) -> {?UNITS, Sum, X};
find(Left, Find, Rows, Count, Before, Sum) ->
    X = ?NEXT(Before),
    Key = X rem Count,
    {_, _, Number} = Find(Key, Rows),
    find(Left - 1, Find, Rows, Count, X, Sum + X - Key + Number).

%% A payload becomes the number of a row, and is read from there.
change(0, _, _, Rows, _, X, Sum, Done) -> {Done, Sum, {Rows, X}};
change(Left, Change, Find, Rows, Count, Before, Sum, Done) ->
    X = ?NEXT(Before),
    Key = X rem Count,
    Changed = Change(Key, X, Rows),
    {_, _, Number} = Find(Key, Changed),
    change(Left - 1, Change, Find, Changed, Count, X, Sum + Number, Done + 1).
