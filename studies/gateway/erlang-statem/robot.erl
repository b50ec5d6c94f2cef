%% A robot's connection: a state machine that is outside at first, and inside of a room once it has
%% joined one.
-module(robot).
-behaviour(gen_statem).
-export([serve/1]).
-export([init/1, callback_mode/0, outside/3, inside/3]).

%% So many frames are taken from the socket before it is asked to go on.
-define(ACTIVE, 100).

%% The calling process, which owns the socket, becomes the robot's.
serve(Socket) ->
    inet:setopts(Socket, [{active, ?ACTIVE}]),
    gen_statem:enter_loop(?MODULE, [], outside, Socket).

callback_mode() ->
    state_functions.

%% Asked for by the behaviour: who enters the loop by itself isn't started.
init(Socket) ->
    {ok, outside, Socket}.

outside(info, {tcp, Socket, <<$J, Number:32>> = Frame}, Socket) ->
    join(Number, Frame, Socket);
outside(info, {tcp, _, <<_, _/binary>>}, _) ->
    %% It reaches nobody.
    keep_state_and_data;
outside(info, Message, Socket) ->
    of_socket(Message, Socket).

inside(info, {said, Room, Frame}, {Socket, Room}) ->
    case gen_tcp:send(Socket, Frame) of
        ok -> keep_state_and_data;
        {error, _} -> stop
    end;
inside(info, {said, _Before, _}, _) ->
    %% In the room that it was in before.
    keep_state_and_data;
inside(info, {tcp, Socket, <<$J, Number:32>> = Frame}, {Socket, Room}) ->
    ok = room:leave(Room),
    join(Number, Frame, Socket);
inside(info, {tcp, _, <<_, _/binary>> = Frame}, {_, Room}) ->
    room:say(Room, Frame),
    keep_state_and_data;
inside(info, Message, {Socket, _}) ->
    of_socket(Message, Socket).

%% Its own words come back before anything that was said in the room: that waits in the mailbox
%% meanwhile.
join(Number, Frame, Socket) ->
    Room = lobby:room(Number),
    case room:join(Room) of
        ok ->
            case gen_tcp:send(Socket, Frame) of
                ok -> {next_state, inside, {Socket, Room}};
                {error, _} -> stop
            end;
        gone ->
            %% The lobby hears of it as well, and has another one.
            join(Number, Frame, Socket)
    end.

of_socket({tcp_passive, Socket}, Socket) ->
    inet:setopts(Socket, [{active, ?ACTIVE}]),
    keep_state_and_data;
of_socket({tcp, Socket, <<>>}, Socket) ->
    %% A frame has a byte at least.
    stop;
of_socket({tcp_error, Socket, _}, Socket) ->
    stop;
of_socket({tcp_closed, Socket}, Socket) ->
    stop.
