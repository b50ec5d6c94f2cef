%% What is the same in all works: how they are called, and the lines that tell of them.
-module(account).
-export([run/2]).

-define(INTERVAL_S, 0.2).

%% Does the work that the arguments say. `Work` has its step, and what the first one takes; `Result`
%% tells what the last one left.
run(Work, Result) ->
    #{"--does" := Does, "--seed" := Seed, "--seconds" := S} = given(init:get_plain_arguments()),
    Seconds = try list_to_float(S) catch error:badarg -> list_to_integer(S) end,
    %% What formats is loaded where it is first called: before the work.
    io:format("{\"ready\": ~s}\n", [true]),
    Self = self(),
    spawn_link(fun() ->
        Begun = now_s(),
        {Step, First} = Work(Does, list_to_integer(Seed)),
        Last = repeat(Step, First, 0, 0, Self, Begun, Begun + ?INTERVAL_S, Begun + Seconds),
        Self ! {result, Result(Does, Last)}
    end),
    tell().

%% A process of its own prints: whoever prints waits for a reply, which the receiver would look
%% for behind all of its messages.
tell() ->
    receive
        {interval, T, Done, Sum} ->
            io:format("{\"t\": ~.6f, \"done\": ~b, \"sum\": ~b}\n", [T, Done, Sum]),
            tell();
        {result, Result} ->
            io:format("{\"result\": {~s}}\n", [Result]),
            halt()
    end.

given([Name, Value | More]) -> (given(More))#{Name => Value};
given([]) -> #{}.

now_s() -> erlang:monotonic_time() / erlang:convert_time_unit(1, second, native).

%% Repeats the step of a work until its time is over. A step takes the sum so far and what the one
%% before it left, and returns how many units it did, the sum after them, and what it leaves.
repeat(Step, State, DoneBefore, SumBefore, Teller, Begun, Due, Until) ->
    {Units, Sum, Next} = Step(SumBefore, State),
    Done = DoneBefore + Units,
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
