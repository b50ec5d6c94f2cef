%% One binary to many processes, each of which reads it.
-module(broadcast).
-export([set_up/3]).
-include("payload.hrl").

%% What is padded is longer than the 256 bytes of 2009.
-define(PADDED, 257).
%% Whose memory is looked at.
-define(WEIGHED, 1000).

set_up(By, Size, Seed) ->
    %% What the recipients have read together: how many did, and the sum.
    Read = atomics:new(2, []),
    Self = self(),
    Count = recipients(Size),
    Recipients = [spawn_link(fun() -> recipient(Self, Read, Count) end)
        || _ <- lists:seq(1, Count)],
    Filler = binary:copy(<<0>>, length_of(By, Size) - 4),
    Sends = sends(By),
    Step = fun(X) ->
        Next = Sends(Recipients, <<X:32, Filler/binary>>, X, X),
        receive all_read -> ok end,
        atomics:put(Read, 1, 0),
        {Count, atomics:exchange(Read, 2, 0), Next}
    end,
    Bytes = weigh(Sends, <<Seed:32, Filler/binary>>, Seed),
    {Step, Seed, fun(_) -> [{bytes_each, Bytes}] end}.

%% Copies of the longest for ten thousand would take gigabytes.
recipients(Size) when Size > 1024 -> 1000;
recipients(_) -> 10000.

length_of("padded", Size) -> max(Size, ?PADDED);
length_of(_, Size) -> Size.

sends("copied") -> fun send_copies/4;
sends(_) -> fun send/4.

%% All have the same binary, and each a payload of its own: with the binary goes by how much
%% that differs from the number in it.
send([], _, _, X) -> X;
send([Recipient | More], News, First, Before) ->
    X = ?NEXT(Before),
    Recipient ! {news, News, X - First},
    send(More, News, First, X).

send_copies([], _, _, X) -> X;
send_copies([Recipient | More], News, First, Before) ->
    X = ?NEXT(Before),
    Recipient ! {news, binary:copy(News), X - First},
    send_copies(More, News, First, X).

recipient(Sender, Read, Count) ->
    receive
        {news, <<First:32, _/binary>>, Differs} ->
            atomics:add(Read, 2, First + Differs),
            case atomics:add_get(Read, 1, 1) of
                Count -> Sender ! all_read;
                _ -> ok
            end
    end,
    recipient(Sender, Read, Count).

%% What a message takes that waits, of its recipient and of what all may share. It waits outside
%% of the heap, which grows in leaps.
weigh(Sends, News, X) ->
    Waits = fun() -> receive never -> ok end end,
    Waiting = [spawn_opt(Waits, [{message_queue_data, off_heap}])
        || _ <- lists:seq(1, ?WEIGHED)],
    Before = memory(Waiting),
    Sends(Waiting, News, X, X),
    Bytes = (memory(Waiting) - Before) div ?WEIGHED,
    [exit(Pid, kill) || Pid <- Waiting],
    Bytes.

memory(Processes) ->
    %% Binaries that only this process has left behind don't count.
    erlang:garbage_collect(),
    Own = [Bytes || Pid <- Processes, {memory, Bytes} <- [process_info(Pid, memory)]],
    lists:sum(Own) + erlang:memory(binary).
