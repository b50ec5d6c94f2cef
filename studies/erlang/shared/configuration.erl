%% A configuration of 16 settings: read by some processes at once, or changed. A setting is a
%% term, as `{limit, 7}`; its number is added up where it was read.
-module(configuration).
-export([read/3, configure/2]).
-include("payload.hrl").

%% The bits of a payload that say which setting.
-define(MASK, 15).
%% What all readers do together in a step.
-define(UNITS, 16384).
%% Those who have read the configuration when it is changed.
-define(READERS, 64).

read(By, Count, Seed) ->
    keep(By, settings()),
    Readers = start(By, Count),
    Each = ?UNITS div Count,
    {fun(X) -> take_turns(Readers, Each, X) end, Seed, fun(_) -> [] end}.

configure(By, Seed) ->
    keep(By, settings()),
    take_turns(start(By, ?READERS), 1, Seed),
    {configures(By), Seed, fun(_) -> [] end}.

settings() -> [{Key, {limit, Key}} || Key <- lists:seq(0, ?MASK)].

keep("gen-server", Settings) -> settings_server:start_link(Settings);
keep("ets", Settings) ->
    ets:new(settings, [named_table, set, {read_concurrency, true}]),
    ets:insert(settings, Settings);
keep("persistent-term", Settings) ->
    [persistent_term:put({?MODULE, Key}, Value) || {Key, Value} <- Settings];
keep("persistent-map", Settings) -> persistent_term:put(?MODULE, maps:from_list(Settings));
keep("compiled-module", Settings) -> compile_settings(Settings).

start(By, Count) ->
    Self = self(),
    [spawn_link(fun() -> reader(Self, reads(By)) end) || _ <- lists:seq(1, Count)].

reader(Asks, Reads) ->
    receive {read, Count, X} -> Asks ! {sum, Reads(Count, X, 0)} end,
    reader(Asks, Reads).

%% Each reader has a part of the payloads: where the next one's begins is known without making
%% them.
take_turns(Readers, Each, X) ->
    Jump = power(48271, Each),
    Next = lists:foldl(fun(Reader, First) ->
        Reader ! {read, Each, First},
        First * Jump rem 2147483647
    end, X, Readers),
    Sums = [receive {sum, Sum} -> Sum end || _ <- Readers],
    {length(Readers) * Each, lists:sum(Sums), Next}.

power(_, 0) -> 1;
power(Base, N) -> Base * power(Base, N - 1) rem 2147483647.

reads("gen-server") -> fun by_call/3;
reads("ets") -> fun from_table/3;
reads("persistent-term") -> fun from_terms/3;
reads("persistent-map") -> fun from_map/3;
reads("compiled-module") -> fun from_module/3.

by_call(0, _, Sum) -> Sum;
by_call(Left, Before, Sum) ->
    X = ?NEXT(Before),
    Key = X band ?MASK,
    {limit, Number} = settings_server:get(Key),
    by_call(Left - 1, X, Sum + X - Key + Number).

from_table(0, _, Sum) -> Sum;
from_table(Left, Before, Sum) ->
    X = ?NEXT(Before),
    Key = X band ?MASK,
    {limit, Number} = ets:lookup_element(settings, Key, 2),
    from_table(Left - 1, X, Sum + X - Key + Number).

from_terms(0, _, Sum) -> Sum;
from_terms(Left, Before, Sum) ->
    X = ?NEXT(Before),
    Key = X band ?MASK,
    {limit, Number} = persistent_term:get({?MODULE, Key}),
    from_terms(Left - 1, X, Sum + X - Key + Number).

from_map(0, _, Sum) -> Sum;
from_map(Left, Before, Sum) ->
    X = ?NEXT(Before),
    Key = X band ?MASK,
    #{Key := {limit, Number}} = persistent_term:get(?MODULE),
    from_map(Left - 1, X, Sum + X - Key + Number).

from_module(0, _, Sum) -> Sum;
from_module(Left, Before, Sum) ->
    X = ?NEXT(Before),
    Key = X band ?MASK,
    {limit, Number} = compiled_settings:get(Key),
    from_module(Left - 1, X, Sum + X - Key + Number).

%% A payload becomes the limit of a setting, and is read from there.
configures("gen-server") ->
    fun(X) -> change(100, fun settings_server:put/2, fun settings_server:get/1, X, 0, 0) end;
configures("ets") ->
    Put = fun(Key, Value) -> ets:insert(settings, {Key, Value}) end,
    Get = fun(Key) -> ets:lookup_element(settings, Key, 2) end,
    fun(X) -> change(1000, Put, Get, X, 0, 0) end;
configures("persistent-term") ->
    Put = fun(Key, Value) -> persistent_term:put({?MODULE, Key}, Value) end,
    Get = fun(Key) -> persistent_term:get({?MODULE, Key}) end,
    fun(X) -> change(100, Put, Get, X, 0, 0) end;
configures("persistent-map") ->
    Put = fun(Key, Value) ->
        Settings = persistent_term:get(?MODULE),
        persistent_term:put(?MODULE, Settings#{Key := Value})
    end,
    Get = fun(Key) -> map_get(Key, persistent_term:get(?MODULE)) end,
    fun(X) -> change(100, Put, Get, X, 0, 0) end;
configures("compiled-module") ->
    Put = fun(Key, Value) -> compile_settings(lists:keystore(Key, 1, settings(), {Key, Value})) end,
    Get = fun(Key) -> compiled_settings:get(Key) end,
    fun(X) -> change(10, Put, Get, X, 0, 0) end.

change(0, _, _, X, Sum, Done) -> {Done, Sum, X};
change(Left, Put, Get, Before, Sum, Done) ->
    X = ?NEXT(Before),
    Key = X band ?MASK,
    Put(Key, {limit, X}),
    {limit, Number} = Get(Key),
    change(Left - 1, Put, Get, X, Sum + Number, Done + 1).

%% A module whose function has a clause a setting.
compile_settings(Settings) ->
    Clauses = [{clause, 1, [{integer, 1, Key}], [], [erl_parse:abstract(Value)]}
        || {Key, Value} <- Settings],
    {ok, Module, Code} = compile:forms([
        {attribute, 1, module, compiled_settings},
        {attribute, 1, export, [{get, 1}]},
        {function, 1, get, 1, Clauses}
    ]),
    code:purge(Module),
    {module, Module} = code:load_binary(Module, "compiled_settings", Code).
