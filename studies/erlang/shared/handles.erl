%% Opens a handle, sends a payload through it, and closes it: a socket that sends to itself. It is
%% a port of the runtime, and takes a place in the table of all ports.
-module(handles).
-export([set_up/2]).
-include("payload.hrl").

-define(UNITS, 100).

set_up("socket", Seed) ->
    Bytes = resident_bytes(),
    {fun(X) -> use(?UNITS, X, 0) end, Seed, fun(_) -> [{vm_bytes, Bytes}] end}.

use(0, X, Sum) -> {?UNITS, Sum, X};
use(Left, Before, Sum) ->
    X = ?NEXT(Before),
    {ok, Socket} = gen_udp:open(0, [binary, {ip, loopback}, {active, false}]),
    {ok, Own} = inet:sockname(Socket),
    ok = gen_udp:send(Socket, Own, <<X:32>>),
    {ok, {_, _, <<Read:32>>}} = gen_udp:recv(Socket, 4),
    gen_udp:close(Socket),
    use(Left - 1, X, Sum + Read).

%% What of the runtime is in memory, before anything was opened.
resident_bytes() ->
    {ok, Status} = file:read_file("/proc/self/status"),
    {match, [Kilobytes]} = re:run(Status, "VmRSS:\\s+([0-9]+) kB", [{capture, [1], list}]),
    list_to_integer(Kilobytes) * 1024.
