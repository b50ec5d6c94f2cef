%% Sends a payload to each of some other nodes and gets it back: nodes of a full mesh, of a star,
%% or the same processes in one node. All nodes are on this machine.
-module(mesh).
-export([set_up/3, echo/0, watch/2, sent/0]).
-include("payload.hrl").

%% A node that says nothing for so long is taken for dead. Its ticks are a quarter of that apart.
%% The default is 60.
-define(NET_TICKTIME_S, 4).
%% How often each is sent a payload in a step.
-define(ROUNDS, 20).

set_up("one-node", Count, Seed) ->
    Echoes = [Gone | Others] = [spawn(fun echo/0) || _ <- lists:seq(2, Count)],
    Watching = [node() || _ <- [self() | Others]],
    Finish = fun(_) ->
        [{notice_ms, notice(Gone, Watching, fun() -> exit(Gone, kill) end)}]
    end,
    {sends(Echoes), Seed, Finish};
set_up(By, Count, Seed) ->
    {ok, _} = net_kernel:start(
        'node@127.0.0.1', #{name_domain => longnames, net_ticktime => ?NET_TICKTIME_S}
    ),
    Peers = [start(By, Number) || Number <- lists:seq(2, Count)],
    connect(By, Peers),
    Found = [{connections, connections(Peers)}, {idle_packets_minute, idle_packets(Peers)}],
    Echoes = [spawn(Node, ?MODULE, echo, []) || {_, Node} <- Peers],
    Finish = fun(_) -> Found ++ lose(By, Peers, hd(Echoes)) end,
    {sends(Echoes), Seed, Finish}.

%% It ends with this node: its standard input is this one's, and is closed then.
start(By, Number) ->
    Address = "127.0.0." ++ integer_to_list(Number),
    Interface = io_lib:format("{127,0,0,~b}", [Number]),
    {ok, Peer, Node} = peer:start_link(#{
        name => node,
        host => Address,
        longnames => true,
        connection => standard_io,
        args => hides(By) ++ [
            "+S", "1:1", "-start_epmd", "false", "-epmd_module", "mesh_names",
            "-pa", filename:dirname(code:which(?MODULE)),
            "-kernel", "net_ticktime", integer_to_list(?NET_TICKTIME_S),
            "inet_dist_use_interface", lists:flatten(Interface)
        ]
    }),
    {Peer, Node}.

%% Only those that don't hide are made known to each other, and connect.
hides("star") -> ["-hidden"];
hides("mesh") -> [].

connect(By, Peers) ->
    [true = net_kernel:connect_node(Node) || {_, Node} <- Peers],
    wait_for_connections(wanted(By, length(Peers) + 1), Peers).

wanted("star", Count) -> Count - 1;
wanted("mesh", Count) -> Count * (Count - 1) div 2.

%% Beyond the first they are made behind the scenes.
wait_for_connections(Wanted, Peers) ->
    case connections(Peers) of
        Wanted -> ok;
        _ -> timer:sleep(10), wait_for_connections(Wanted, Peers)
    end.

%% Both ends count one.
connections(Peers) ->
    Ends = on_all(Peers, erlang, nodes, [connected]),
    lists:sum([length(Nodes) || Nodes <- Ends]) div 2.

%% A minute is as long as the default net_ticktime: what is sent in one with that is sent here in
%% as many seconds as net_ticktime has.
idle_packets(Peers) ->
    %% What follows from connecting is over by then.
    timer:sleep(1000),
    Before = lists:sum(on_all(Peers, ?MODULE, sent, [])),
    timer:sleep(?NET_TICKTIME_S * 1000),
    lists:sum(on_all(Peers, ?MODULE, sent, [])) - Before.

%% The packets that this node has sent to others.
sent() ->
    Sockets = [Socket || {_, Socket} <- erlang:system_info(dist_ctrl)],
    Stats = [inet:getstat(Socket, [send_cnt]) || Socket <- Sockets],
    lists:sum([Packets || {ok, [{send_cnt, Packets}]} <- Stats]).

%% Here, and on all others, which are asked beside their connections.
on_all(Peers, Module, Function, Arguments) ->
    Here = apply(Module, Function, Arguments),
    [Here | [peer:call(Peer, Module, Function, Arguments) || {Peer, _} <- Peers]].

sends(Echoes) ->
    All = lists:append(lists:duplicate(?ROUNDS, Echoes)),
    fun(X) -> send(All, X, 0, 0) end.

send([], X, Sum, Done) -> {Done, Sum, X};
send([Echo | More], Before, Sum, Done) ->
    X = ?NEXT(Before),
    Echo ! {self(), X},
    receive {Echo, Back} -> send(More, X, Sum + Back, Done + 1) end.

echo() ->
    receive {From, X} -> From ! {self(), X} end,
    echo().

%% What becomes of the others if one is frozen, and if it is killed.
lose(By, Peers = [{Peer, Node} | _], Echo) ->
    %% Nodes would report what is wanted here.
    on_all(Peers, logger, set_primary_config, [level, none]),
    Pid = peer:call(Peer, os, getpid, []),
    Watching = watching(By, Node),
    Frozen = notice(Echo, Watching, fun() -> os:cmd("kill -STOP " ++ Pid) end),
    os:cmd("kill -CONT " ++ Pid),
    connect(By, Peers),
    Killed = notice(Echo, Watching, fun() -> os:cmd("kill -KILL " ++ Pid) end),
    [{notice_frozen_ms, Frozen}, {notice_ms, Killed}].

%% Those that are connected with a node.
watching("star", _) -> [node()];
watching("mesh", Node) -> [node() | nodes()] -- [Node].

%% The milliseconds until all that watch a process know that it, or its node, is gone.
notice(Gone, Watching, Loses) ->
    Self = self(),
    Watchers = [spawn(Node, ?MODULE, watch, [Self, Gone]) || Node <- Watching],
    [receive {Watcher, watches} -> ok end || Watcher <- Watchers],
    Begun = erlang:monotonic_time(microsecond),
    Loses(),
    [receive {Watcher, noticed} -> ok end || Watcher <- Watchers],
    (erlang:monotonic_time(microsecond) - Begun) / 1000.

watch(Teller, Process) ->
    Monitor = monitor(process, Process),
    Teller ! {self(), watches},
    receive {'DOWN', Monitor, _, _, _} -> Teller ! {self(), noticed} end.
