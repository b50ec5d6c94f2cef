%% What all experiments share: how they are called, and the account that they give. An
%% experiment is a step: it takes what the one before it left, and returns how many units it
%% did, the sum of their payloads, and what it leaves. What the last one leaves goes to a function
%% that tells the numbers of the result.
-module(account).
-export([main/0]).

-define(INTERVAL_S, 0.2).

%% Called by `erl -s account main -extra --by WAY --does EXPERIMENT --seed N --seconds S`.
main() ->
    Given = #{"--seconds" := S} = given(init:get_plain_arguments(), #{}),
    Seconds = try list_to_float(S) catch error:badarg -> list_to_integer(S) end,
    Self = self(),
    spawn_link(fun() -> work(Self, Given, Seconds) end),
    tell().

%% Of two same names the last holds: a variant's.
given([Name, Value | More], Given) -> given(More, Given#{Name => Value});
given([], Given) -> Given.

%% A process of its own prints: whoever prints waits for a reply, which the one that works
%% would look for among its messages.
tell() ->
    receive
        ready ->
            io:format("{\"ready\": ~s}\n", [true]),
            tell();
        {interval, T, Done, Sum} ->
            io:format("{\"t\": ~.6f, \"done\": ~b, \"sum\": ~b}\n", [T, Done, Sum]),
            tell();
        {result, Result} ->
            Members = [io_lib:format("\"~s\": ~w", [Name, Value]) || {Name, Value} <- Result],
            io:format("{\"result\": {~s}}\n", [lists:join(", ", Members)]),
            halt()
    end.

work(Teller, #{"--by" := By, "--does" := Does, "--seed" := Seed}, Seconds) ->
    {Step, First, Result} = set_up(Does, By, list_to_integer(Seed)),
    Teller ! ready,
    Begun = now_s(),
    Last = repeat(Step, First, 0, 0, Teller, Begun, Begun + ?INTERVAL_S, Begun + Seconds),
    Teller ! {result, Result(Last)}.

%% The step of an experiment, what its first one takes, and what tells its result.
set_up("get-" ++ Keys, By, Seed) -> keys:set_up(By, list_to_integer(Keys), Seed);
set_up("configuration-" ++ Readers, By, Seed) ->
    configuration:read(By, list_to_integer(Readers), Seed);
set_up("configure", By, Seed) -> configuration:configure(By, Seed);
set_up("broadcast-" ++ Size, By, Seed) -> broadcast:set_up(By, list_to_integer(Size), Seed);
set_up("look-up-" ++ Rows, By, Seed) -> rows:look_up(By, list_to_integer(Rows), Seed);
set_up("update-" ++ Rows, By, Seed) -> rows:update(By, list_to_integer(Rows), Seed);
set_up("clauses", By, Seed) -> clauses:set_up(By, Seed);
set_up("handles", By, Seed) -> handles:set_up(By, Seed);
set_up("mesh-" ++ Nodes, By, Seed) -> mesh:set_up(By, list_to_integer(Nodes), Seed).

now_s() -> erlang:monotonic_time() / erlang:convert_time_unit(1, second, native).

%% Repeats the step until its time is over, and returns what the last one left. Between two
%% steps it looks at the clock.
repeat(Step, Left, DoneBefore, SumBefore, Teller, Begun, Due, Until) ->
    {Units, Payloads, Next} = Step(Left),
    Done = DoneBefore + Units,
    Sum = (SumBefore + Payloads) band 16#FFFFFFFF,
    case now_s() of
        Now when Now < Due ->
            repeat(Step, Next, Done, Sum, Teller, Begun, Due, Until);
        Now ->
            Teller ! {interval, Now - Begun, Done, Sum},
            case Now < Until of
                true -> repeat(Step, Next, Done, Sum, Teller, Begun, Now + ?INTERVAL_S, Until);
                false -> Next
            end
    end.
