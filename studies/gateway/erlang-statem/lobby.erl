%% Knows the process of each room that has somebody in it.
-module(lobby).
-behaviour(gen_server).
-export([start/0, room/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

start() ->
    gen_server:start({local, ?MODULE}, ?MODULE, [], []).

%% The process of this room, which begins where there is none.
room(Number) ->
    gen_server:call(?MODULE, Number).

init([]) ->
    {ok, #{}}.

handle_call(Number, _From, Rooms) ->
    case Rooms of
        #{Number := Room} ->
            {reply, Room, Rooms};
        #{} ->
            {ok, Room} = room:start(),
            monitor(process, Room, [{tag, {empty, Number}}]),
            {reply, Room, Rooms#{Number => Room}}
    end.

handle_cast(_, Rooms) ->
    {noreply, Rooms}.

handle_info({{empty, Number}, _Monitor, process, _Room, _Why}, Rooms) ->
    {noreply, maps:remove(Number, Rooms)}.
