%% A gateway of rooms on gen_tcp, as a newcomer writes it: a process a robot, and `pg` knows who is
%% in which room. Frames are those of `{packet, 2}`.
-module(gateway).
-export([start/1]).

-define(ACCEPTORS, 16).
%% Before another try where no connection can be accepted.
-define(PAUSE_MS, 100).

%% Called by `erl -run gateway start HOST PORT`.
start([Host, Port]) ->
    %% SIGTERM ends it at once: it has nothing to put in order, for which init:stop/0,
    %% that OTP calls otherwise, takes a second.
    ok = os:set_signal(sigterm, default),
    {ok, _} = pg:start(pg),
    {ok, Address} = inet:parse_address(Host),
    %% The kernel cuts the backlog to net.core.somaxconn, 4,096 on Debian 12.
    {ok, Listener} = gen_tcp:listen(list_to_integer(Port), [
        binary,
        {ip, Address},
        {packet, 2},
        {active, false},
        {reuseaddr, true},
        {nodelay, true},
        {backlog, 8192}
    ]),
    %% A socket closes with its owner, and this process ends when the start is done.
    Owner = spawn(fun() -> receive after infinity -> ok end end),
    ok = gen_tcp:controlling_process(Listener, Owner),
    [spawn(fun() -> accept(Listener) end) || _ <- lists:seq(1, ?ACCEPTORS)],
    ok.

%% The acceptor becomes the robot's process, and a new one accepts.
accept(Listener) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} ->
            spawn(fun() -> accept(Listener) end),
            inet:setopts(Socket, [{active, once}]),
            serve(Socket, outside);
        {error, _} ->
            %% Most likely no more files may be open, which passes when a connection ends. Nor
            %% could the module of timer:sleep/1 be loaded then.
            receive after ?PAUSE_MS -> ok end,
            accept(Listener)
    end.

%% Its socket closes with the process, and `pg` forgets it.
serve(Socket, Room) ->
    receive
        {said, Room, Frame} ->
            case gen_tcp:send(Socket, Frame) of
                ok -> serve(Socket, Room);
                {error, _} -> gone
            end;
        {said, _Before, _} ->
            %% In the room that it was in before.
            serve(Socket, Room);
        {tcp, Socket, <<>>} ->
            %% A frame has a byte at least.
            gone;
        {tcp, Socket, Frame} ->
            Next = hear(Frame, Socket, Room),
            inet:setopts(Socket, [{active, once}]),
            serve(Socket, Next);
        {tcp_error, Socket, _} ->
            gone;
        {tcp_closed, Socket} ->
            gone
    end.

%% What the robot said; returns the room that it is in then. Its own words come back before
%% anything that was said in the room: that waits in the mailbox meanwhile.
hear(<<$J, Room:32>> = Frame, Socket, Before) ->
    pg:leave(Before, self()),
    ok = pg:join(Room, self()),
    gen_tcp:send(Socket, Frame),
    Room;
hear(Frame, _Socket, Room) ->
    [Robot ! {said, Room, Frame} || Robot <- pg:get_members(Room)],
    Room.
