%% What a message between two processes costs. Messages are tagged, as Erlang's programming
%% rules have it.
-module(messages).
-export([main/0]).

%% Units of a step: between two looks at the clock.
-define(CLOCK_EVERY, 1000).
-define(ROUND, 1000000).
-define(RING, 1000).
-define(BATCH, 10000).
%% The sum after one more payload, modulo 2^32. Each place weighs 31 times as much as the next, so
%% that payloads in another order have another sum. A macro, because a call would be measured.
-define(SUM(Sum, X), (((Sum) * 31 + (X)) band 16#FFFFFFFF)).

%% Called by `erl -s messages main -extra --does WORK --seed N --seconds S`.
main() -> account:run(fun work/2, fun result/2).

%% The step of a work, and what its first one takes.
work("oneway-unbounded", Seed) ->
    Self = self(),
    Sender = spawn_link(fun() -> send_rounds(Self, Seed, ?ROUND) end),
    {fun(Before, Longest) ->
        Sum = take(?CLOCK_EVERY, Sender, Before),
        {message_queue_len, Length} = process_info(self(), message_queue_len),
        {?CLOCK_EVERY, Sum, max(Length, Longest)}
    end, 0};
work("oneway-" ++ Window, Seed) ->
    Self = self(),
    Credit = list_to_integer(Window),
    Sender = spawn_link(fun() -> send_on_credit(Self, Seed, Credit) end),
    %% More is granted once half is used, as RabbitMQ does between its processes.
    Half = max(1, Credit div 2),
    Grants = max(1, ?CLOCK_EVERY div Half),
    {fun(Sum, none) -> {Grants * Half, take_and_grant(Grants, Half, Sender, Sum), none} end, none};
work("pingpong", Seed) ->
    Other = spawn_link(fun pong/0),
    {fun(Sum, X) -> ping(?CLOCK_EVERY, Other, X, Sum) end, Seed};
work("ring", Seed) ->
    Before = fun(_, Next) -> spawn_link(fun() -> hop(Next) end) end,
    Second = lists:foldl(Before, self(), lists:seq(2, ?RING)),
    {fun(Sum, X) -> lap(Second, X, Sum) end, Seed};
work("spawn", Seed) ->
    {fun batch/2, {Seed, none}}.

result("oneway-unbounded", Longest) -> io_lib:format("\"longest_queue\": ~b", [Longest]);
result("spawn", {_, BytesEach}) -> io_lib:format("\"bytes_each\": ~b", [BytesEach]);
result(_, _) -> "".

%% The payload after X: C++'s minstd_rand.
next(X) -> X * 48271 rem 2147483647.

send_rounds(Receiver, X, 0) ->
    Receiver ! done,
    receive confirmed -> send_rounds(Receiver, X, ?ROUND) end;
send_rounds(Receiver, X, Left) ->
    Next = next(X),
    Receiver ! {payload, Next},
    send_rounds(Receiver, Next, Left - 1).

send_on_credit(Receiver, X, 0) ->
    receive {credit, More} -> send_on_credit(Receiver, X, More) end;
send_on_credit(Receiver, X, Credit) ->
    Next = next(X),
    Receiver ! {payload, Next},
    send_on_credit(Receiver, Next, Credit - 1).

%% Receives so many payloads, and returns the sum after them.
take(0, _, Sum) -> Sum;
take(Left, Sender, Sum) ->
    receive
        {payload, X} -> take(Left - 1, Sender, ?SUM(Sum, X));
        done ->
            Sender ! confirmed,
            take(Left, Sender, Sum)
    end.

take_and_grant(0, _, _, Sum) -> Sum;
take_and_grant(Grants, Half, Sender, Sum) ->
    More = take(Half, Sender, Sum),
    Sender ! {credit, Half},
    take_and_grant(Grants - 1, Half, Sender, More).

ping(0, _, X, Sum) -> {?CLOCK_EVERY, Sum, X};
ping(Left, Other, X, Sum) ->
    Next = next(X),
    Other ! {ping, self(), Next},
    receive {pong, Back} -> ping(Left - 1, Other, Next, ?SUM(Sum, Back)) end.

pong() ->
    receive {ping, From, X} -> From ! {pong, X} end,
    pong().

%% The first of the ring begins each lap anew, and its hop is the lap's last.
lap(Second, X, Before) ->
    Second ! {token, X, Before, 0},
    receive {token, Last, Sum, Done} -> Next = next(Last), {Done + 1, ?SUM(Sum, Next), Next} end.

hop(To) ->
    receive {token, X, Sum, Done} -> Next = next(X), To ! {token, Next, ?SUM(Sum, Next), Done + 1} end,
    hop(To).

batch(Sum, {X, BytesEach}) ->
    Before = resident(),
    {Next, Waiting} = spawn_waiting(?BATCH, X, []),
    Each = case BytesEach of none -> (resident() - Before) div ?BATCH; _ -> BytesEach end,
    [Pid ! release || Pid <- Waiting],
    {?BATCH, sum(join(?BATCH, []), Sum), {Next, Each}}.

spawn_waiting(0, X, Pids) -> {X, Pids};
spawn_waiting(Left, X, Pids) ->
    Next = next(X),
    {Pid, _} = spawn_monitor(fun() -> receive release -> exit({payload, Left, Next}) end end),
    spawn_waiting(Left - 1, Next, [Pid | Pids]).

%% Where a process ends, its monitor is told why: that is what it hands back, with how many were
%% left to make.
join(0, Back) -> lists:reverse(lists:keysort(1, Back));
join(Left, Back) ->
    receive {'DOWN', _, process, _, {payload, Number, X}} -> join(Left - 1, [{Number, X} | Back]) end.

sum(Back, Before) -> lists:foldl(fun({_, X}, Sum) -> ?SUM(Sum, X) end, Before, Back).

resident() ->
    {ok, Status} = file:read_file("/proc/self/status"),
    {match, [KB]} = re:run(Status, "VmRSS:\\s+(\\d+)", [{capture, all_but_first, binary}]),
    binary_to_integer(KB) * 1024.
