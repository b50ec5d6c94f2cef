%% A gateway of rooms, of OTP's behaviours: a robot is a state machine, a room a server, and the
%% lobby knows which rooms there are. Frames are those of `{packet, 2}`.
-module(gateway).
-export([start/1]).

-define(ACCEPTORS, 16).
%% Before another try where no connection can be accepted.
-define(PAUSE_MS, 100).
%% A robot that takes nothing for so long is cut. Until then its mailbox keeps what is said.
-define(SEND_TIMEOUT_MS, 2000).

%% Called by `erl -run gateway start HOST PORT`.
start([Host, Port]) ->
    %% SIGTERM ends it at once: it has nothing to put in order, for which init:stop/0,
    %% that OTP calls otherwise, takes a second.
    ok = os:set_signal(sigterm, default),
    {ok, Lobby} = lobby:start(),
    {ok, Address} = inet:parse_address(Host),
    %% The kernel cuts the backlog to net.core.somaxconn, 4,096 on Debian 12.
    {ok, Listener} = gen_tcp:listen(list_to_integer(Port), [
        binary,
        {ip, Address},
        {packet, 2},
        {active, false},
        {reuseaddr, true},
        {nodelay, true},
        {send_timeout, ?SEND_TIMEOUT_MS},
        {send_timeout_close, true},
        {backlog, 8192}
    ]),
    %% A socket closes with its owner, and this process ends when the start is done.
    ok = gen_tcp:controlling_process(Listener, Lobby),
    [proc_lib:spawn(fun() -> accept(Listener) end) || _ <- lists:seq(1, ?ACCEPTORS)],
    ok.

%% The acceptor becomes the robot's process, and a new one accepts.
accept(Listener) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} ->
            proc_lib:spawn(fun() -> accept(Listener) end),
            robot:serve(Socket);
        {error, _} ->
            %% Most likely no more files may be open, which passes when a connection ends. Nor
            %% could the module of timer:sleep/1 be loaded then.
            receive after ?PAUSE_MS -> ok end,
            accept(Listener)
    end.
