%% What a record costs as bytes in Erlang's own external format, and back.
-module(codecs).
-export([main/0]).

-define(INTERVAL_S, 0.2).
%% Records between two looks at the clock.
-define(CLOCK_EVERY, 1000).
%% In which keys end, and how many letters there are from it on.
-define(FIRST_LETTER, $a).
-define(LETTERS, 16).
%% Each place weighs 31 times as much as the next. A macro, because a call would be measured.
-define(WEIGHED(Before, After), (((Before) * 31 + (After)) band 16#FFFFFFFF)).

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
        #{"--does" := Does, "--seconds" := S, "--seed" := Seed} ->
            work(Does, seconds(S), list_to_integer(Seed), Things, Encoded);
        #{} -> ok
    end.

seconds(S) -> try list_to_float(S) catch error:badarg -> list_to_integer(S) end.

work(Does, Seconds, Seed, Things, Encoded) ->
    {Work, Changed} = work(Does, Things, Encoded),
    io:format("{\"ready\": ~s}\n", [true]),
    Begun = now_s(),
    Times = {Begun, Begun + ?INTERVAL_S, Begun + Seconds},
    repeat(Work, [], {Changed, Seed}, 0, 0, ?CLOCK_EVERY, Times),
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

%% What is done, and what a round does it to: a round changes the letter in which each key ends,
%% so that it has nothing that was done in the last one.
work("decode", Things, Encoded) ->
    Pieces = [between(Bytes, Thing) || {Bytes, Thing} <- lists:zip(Encoded, Things)],
    Changed = fun(Letter) -> [iolist_to_binary(lists:join(Letter, Of)) || Of <- Pieces] end,
    {fun erlang:binary_to_term/1, Changed};
work("encode", Things, _) -> {fun encode/1, fun(Letter) -> [change(It, Letter) || It <- Things] end};
work("both", Things, _) ->
    Both = fun(Thing) -> binary_to_term(term_to_binary(Thing)) end,
    {Both, fun(Letter) -> [change(It, Letter) || It <- Things] end}.

change(#row{key = Key} = Row, Letter) ->
    Kept = byte_size(Key) - 1,
    <<Begin:Kept/binary, _>> = Key,
    Row#row{key = <<Begin/binary, Letter>>};
change(Rows, Letter) -> [change(Row, Letter) || Row <- Rows].

%% What is encoded, cut where it has the letters: there the bytes of another letter differ.
between(Bytes, Thing) ->
    Other = binary_to_list(term_to_binary(change(Thing, ?FIRST_LETTER + 1))),
    Pairs = lists:zip(binary_to_list(Bytes), Other),
    Places = [At || {At, {One, Two}} <- lists:enumerate(0, Pairs), One =/= Two],
    length(Places) =:= records(Thing) orelse
        fail("another letter isn't one other byte: ~p", [Thing]),
    cut(Bytes, 0, Places).

cut(Bytes, From, []) -> [binary:part(Bytes, From, byte_size(Bytes) - From)];
cut(Bytes, From, [Place | More]) ->
    [binary:part(Bytes, From, Place - From) | cut(Bytes, Place + 1, More)].

records(#row{}) -> 1;
records(Rows) -> length(Rows).

encode(Thing) ->
    %% What nobody looks at, a compiler might leave out.
    <<131, _/binary>> = term_to_binary(Thing),
    Thing.

%% Does all in their order, round and round, until its time is over. The letter of a round comes
%% from its payload: C++'s minstd_rand.
repeat(Work, [], {Changed, Before}, Done, Sum, LookAt, Times) ->
    X = Before * 48271 rem 2147483647,
    Round = Changed(?FIRST_LETTER + X rem ?LETTERS),
    repeat(Work, Round, {Changed, X}, Done, Sum, LookAt, Times);
repeat(Work, [Next | More], Rounds, DoneBefore, SumBefore, LookAt, Times) ->
    {Records, Sum} = sum(Work(Next), SumBefore),
    Done = DoneBefore + Records,
    case Done < LookAt orelse tell(Done, Sum, Times) of
        true when Done < LookAt -> repeat(Work, More, Rounds, Done, Sum, LookAt, Times);
        true -> ok;
        Later -> repeat(Work, More, Rounds, Done, Sum, LookAt + ?CLOCK_EVERY, Later)
    end.

%% Prints what was done, if that is due. Gives the times for the next look, or true at the end.
tell(Done, Sum, {Begun, Due, Until} = Times) ->
    case now_s() of
        Now when Now < Due -> Times;
        Now ->
            io:format("{\"t\": ~.6f, \"done\": ~b, \"sum\": ~b}\n",
                [Now - Begun, Done, Sum]),
            Now >= Until orelse {Begun, Now + ?INTERVAL_S, Until}
    end.

%% How many records these are, and the sum after them.
sum(#row{} = Row, Before) -> {1, ?WEIGHED(Before, number(Row))};
sum(Rows, Before) ->
    lists:foldl(fun(Row, {Records, Sum}) -> {Records + 1, ?WEIGHED(Sum, number(Row))} end,
        {0, Before}, Rows).

%% What shows that each field was read.
number(#row{key = Key, value = Value, type = Type, ttl = Ttl, first = First, last = Last}) ->
    with(Key, with(Last, with(First, with(Type, with(Value, Ttl))))).

%% The code points with which a text begins and ends: the last one is of ASCII.
with(<<First/utf8, _/binary>> = Text, Number) ->
    ?WEIGHED(?WEIGHED(Number, First), binary:last(Text));
with(<<>>, Number) -> ?WEIGHED(?WEIGHED(Number, 0), 0).
