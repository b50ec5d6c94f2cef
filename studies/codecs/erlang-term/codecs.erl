%% What a record costs as bytes in Erlang's own external format, and back.
-module(codecs).
-export([main/0]).

-define(INTERVAL_S, 0.2).
%% Records between two looks at the clock.
-define(CLOCK_EVERY, 1000).

%% Texts are binaries in UTF-8.
-record(row, {key, value, type, ttl, first, last}).

%% Called by `erl -s codecs main -extra --does WORK --at-once N --seconds S --records FILE`, where
%% `--made FILE` may be as well, or that or `--decode-from FILE` instead of WORK and S.
main() ->
    Given = given(init:get_plain_arguments()),
    #{"--at-once" := AtOnce, "--records" := File} = Given,
    start(Given, things(read(File), list_to_integer(AtOnce))),
    halt().

start(#{"--decode-from" := File}, Things) ->
    [binary_to_term(Bytes) || Bytes <- stored(File)] =:= Things orelse
        fail("~s doesn't decode to the records", [File]);
start(Given, Things) ->
    Encoded = checked(Things),
    case Given of
        #{"--made" := File} -> store(File, Encoded);
        #{} -> ok
    end,
    case Given of
        #{"--does" := Does, "--seconds" := S} -> work(Does, seconds(S), Things, Encoded);
        #{} -> ok
    end.

seconds(S) -> try list_to_float(S) catch error:badarg -> list_to_integer(S) end.

work(Does, Seconds, Things, Encoded) ->
    {Work, All} = work(Does, Things, Encoded),
    io:format("{\"ready\": ~s}\n", [true]),
    Begun = now_s(),
    repeat(Work, All, All, 0, 0, ?CLOCK_EVERY, {Begun, Begun + ?INTERVAL_S, Begun + Seconds}),
    io:format("{\"result\": {}}\n").

given([Name, Value | More]) -> (given(More))#{Name => Value};
given([]) -> #{}.

now_s() -> erlang:monotonic_time() / erlang:convert_time_unit(1, second, native).

%% The rows of a file: a line each, with tabs between its fields.
read(File) ->
    {ok, Text} = file:read_file(File),
    [row(Line) || Line <- binary:split(Text, <<"\n">>, [global, trim])].

row(Line) ->
    [Key, Value, Type, First, Last, Ttl] = binary:split(Line, <<"\t">>, [global]),
    %% Parts of a binary would keep the whole file, and be slower to read.
    [K, V, T, F, L] = [binary:copy(Text) || Text <- [Key, Value, Type, First, Last]],
    #row{key = K, value = V, type = T, ttl = binary_to_integer(Ttl), first = F, last = L}.

%% What is encoded at once: a row, or a list of rows.
things(Rows, 1) -> Rows;
things([], _) -> [];
things(Rows, AtOnce) ->
    {List, Others} = lists:split(AtOnce, Rows),
    [List | things(Others, AtOnce)].

%% What things are encoded, once it is known that they are the same after the round trip.
checked(Things) ->
    Encoded = [term_to_binary(Thing) || Thing <- Things],
    [binary_to_term(Bytes) =:= Thing orelse
        fail("it isn't the same after the round trip: ~p", [Thing])
        || {Thing, Bytes} <- lists:zip(Things, Encoded)],
    Encoded.

fail(Why, Of) ->
    io:format(standard_error, Why ++ "\n", Of),
    halt(1).

%% Writes what was encoded, each with its length before it: four bytes, the highest first.
store(File, Encoded) ->
    ok = file:write_file(File, [<<(byte_size(Bytes)):32, Bytes/binary>> || Bytes <- Encoded]).

stored(File) ->
    {ok, All} = file:read_file(File),
    [Bytes || <<Length:32, Bytes:Length/binary>> <= All].

%% What is done, and to what.
work("encode", Things, _) -> {fun encode/1, Things};
work("decode", _, Encoded) -> {fun erlang:binary_to_term/1, Encoded};
work("both", Things, _) -> {fun(Thing) -> binary_to_term(term_to_binary(Thing)) end, Things}.

encode(Thing) ->
    %% What nobody looks at, a compiler might leave out.
    <<131, _/binary>> = term_to_binary(Thing),
    Thing.

%% Does all in their order, round and round, until its time is over.
repeat(Work, [], All, Done, Sum, LookAt, Times) ->
    repeat(Work, All, All, Done, Sum, LookAt, Times);
repeat(Work, [Next | More], All, DoneBefore, SumBefore, LookAt, Times) ->
    {Records, Number} = number(Work(Next)),
    Done = DoneBefore + Records,
    Sum = SumBefore + Number,
    case Done < LookAt orelse tell(Done, Sum, Times) of
        true when Done < LookAt -> repeat(Work, More, All, Done, Sum, LookAt, Times);
        true -> ok;
        Later -> repeat(Work, More, All, Done, Sum, LookAt + ?CLOCK_EVERY, Later)
    end.

%% Prints what was done, if that is due. Gives the times for the next look, or true at the end.
tell(Done, Sum, {Begun, Due, Until} = Times) ->
    case now_s() of
        Now when Now < Due -> Times;
        Now ->
            io:format("{\"t\": ~.6f, \"done\": ~b, \"sum\": ~b}\n",
                [Now - Begun, Done, Sum band 16#FFFFFFFF]),
            Now >= Until orelse {Begun, Now + ?INTERVAL_S, Until}
    end.

%% How many records these are, and what shows that each field was read.
number(#row{key = Key, value = Value, type = Type, ttl = Ttl, first = First, last = Last}) ->
    {1, Ttl + first(Key) + first(Value) + first(Type) + first(First) + first(Last)};
number(Rows) ->
    lists:foldl(fun(Row, {Records, Sum}) ->
        {1, Number} = number(Row),
        {Records + 1, Sum + Number}
    end, {0, 0}, Rows).

first(<<First/utf8, _/binary>>) -> First;
first(<<>>) -> 0.
