%% A room: hands what is said in it to all of its members, and ends with the last of them.
-module(room).
-behaviour(gen_server).
-export([start/0, join/1, leave/1, say/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

start() ->
    gen_server:start(?MODULE, [], []).

%% The calling process is a member from now on; `gone` where the room has just ended.
join(Room) ->
    try
        gen_server:call(Room, join)
    catch
        exit:{Why, _} when Why =:= noproc; Why =:= normal -> gone
    end.

leave(Room) ->
    gen_server:call(Room, leave).

%% Each member, the speaker too, is sent `{said, Room, Frame}`.
say(Room, Frame) ->
    gen_server:cast(Room, {say, Frame}).

%% The members are a map of processes and their monitors.
init([]) ->
    {ok, #{}}.

handle_call(join, {Robot, _}, Members) ->
    {reply, ok, Members#{Robot => monitor(process, Robot)}};
handle_call(leave, {Robot, _} = From, Members) ->
    {Monitor, Others} = maps:take(Robot, Members),
    demonitor(Monitor, [flush]),
    gen_server:reply(From, ok),
    without(Others).

handle_cast({say, Frame}, Members) ->
    Said = {said, self(), Frame},
    maps:foreach(fun(Robot, _) -> Robot ! Said end, Members),
    {noreply, Members}.

handle_info({'DOWN', _Monitor, process, Robot, _Why}, Members) ->
    without(maps:remove(Robot, Members)).

without(Nobody) when map_size(Nobody) =:= 0 ->
    {stop, normal, Nobody};
without(Others) ->
    {noreply, Others}.
