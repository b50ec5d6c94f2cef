%% A hello-world server made for load: raw sockets, an HTTP/1.1 parser by binary
%% matching, one process a connection, one send for all that a read asked for.
%%
%% The sockets are gen_tcp's: with OTP 25's `socket` module the same server took
%% about one and a half times the CPU a request.
-module(hello).
-export([start/1]).
-compile(inline).

-define(ACCEPTORS, 16).
%% Before another try where no connection can be accepted.
-define(PAUSE_MS, 100).
%% Messages that a socket may send before it waits to be asked again: enough that
%% asking costs nothing, few enough that no client fills a mailbox.
-define(READS, 100).
-define(REQUEST_BYTES_MAX, 8192).
-define(ID_LENGTH_MAX, 64).
-define(VERSIONS, [<<"HTTP/1.1\r\n">>, <<"HTTP/1.0\r\n">>]).

%% Called by `erl -run hello start HOST PORT`.
start([Host, Port]) ->
    %% SIGTERM ends it at once: it has nothing to put in order, for which init:stop/0,
    %% that OTP calls otherwise, takes a second.
    ok = os:set_signal(sigterm, default),
    {ok, Address} = inet:parse_address(Host),
    %% The kernel cuts the backlog to net.core.somaxconn, 4,096 on Debian 12.
    {ok, Listener} = gen_tcp:listen(list_to_integer(Port), [
        binary,
        {ip, Address},
        {packet, raw},
        %% For the connections, which inherit it.
        {active, ?READS},
        {reuseaddr, true},
        {backlog, 8192}
    ]),
    %% A socket closes with its owner, and this process ends when the start is done.
    ok = gen_tcp:controlling_process(Listener, start_clock()),
    [spawn_acceptor(Listener) || _ <- lists:seq(1, ?ACCEPTORS)],
    ok.

spawn_acceptor(Listener) ->
    spawn(fun() -> accept(Listener) end).

%% The acceptor becomes the connection's process, and a new one accepts.
accept(Listener) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} ->
            spawn_acceptor(Listener),
            serve(Socket, <<>>, rand:mwc59_seed());
        {error, _} ->
            %% Most likely no more files may be open, which passes when a connection ends. Nor
            %% could the module of timer:sleep/1 be loaded then.
            receive after ?PAUSE_MS -> ok end,
            accept(Listener)
    end.

%% Waits for bytes. What has come of the next request is kept in Begun.
serve(Socket, Begun, Random) ->
    receive
        {tcp, Socket, Bytes} when Begun =:= <<>> ->
            answer_all(Socket, Bytes, Random, []);
        {tcp, Socket, Bytes} ->
            answer_all(Socket, <<Begun/binary, Bytes/binary>>, Random, []);
        {inet_reply, Socket, ok} ->
            serve(Socket, Begun, Random);
        {tcp_passive, Socket} ->
            _ = inet:setopts(Socket, [{active, ?READS}]),
            serve(Socket, Begun, Random);
        {inet_reply, Socket, {error, _}} ->
            gen_tcp:close(Socket);
        {tcp_closed, Socket} ->
            ok;
        {tcp_error, Socket, _} ->
            gen_tcp:close(Socket)
    end.

%% Answers each request that has come whole, in order, with one send.
answer_all(Socket, Bytes, Random, Answers) ->
    case request(Bytes) of
        {Method, Target, true, Rest} ->
            {Answer, Next} = answer(Method, Target, <<>>, Random),
            answer_all(Socket, Rest, Next, [Answers | Answer]);
        {Method, Target, false, _} ->
            {Answer, _} = answer(Method, Target, <<"Connection: close\r\n">>, Random),
            send_last(Socket, [Answers | Answer]);
        more when byte_size(Bytes) =< ?REQUEST_BYTES_MAX ->
            send(Socket, Answers),
            serve(Socket, Bytes, Random);
        _ ->
            Why = <<"bad request\n">>,
            Bad = response(get, <<"400 Bad Request">>, <<"Connection: close\r\n">>, Why),
            send_last(Socket, [Answers | Bad])
    end.

%% As gen_tcp:send does it, but its reply comes as a message among the others
%% instead of being waited for. A port whose client doesn't read suspends the
%% process here.
send(_Socket, []) ->
    ok;
send(Socket, Answers) ->
    try
        erlang:port_command(Socket, Answers)
    catch
        %% Closed by the client; the message that says so is on its way.
        error:badarg -> ok
    end.

send_last(Socket, Answers) ->
    _ = gen_tcp:send(Socket, Answers),
    gen_tcp:close(Socket).

%% ---- What a client asks ----------------------------------------------------

%% The first request in Bytes: {Method, Target, Keep, Rest}, or `more` where its
%% end is yet to come, or `bad`. It starts anew when more has come: requests come
%% in one piece unless somebody is testing.
request(<<"GET ", Rest/binary>>) -> target(Rest, get);
request(<<"HEAD ", Rest/binary>>) -> target(Rest, head);
%% Empty lines before a request are allowed.
request(<<"\r\n", Rest/binary>>) -> request(Rest);
request(Bytes) -> method(Bytes, 0).

method(<<C, Rest/binary>>, Length) when C >= $A, C =< $Z, Length < 32 ->
    method(Rest, Length + 1);
method(<<" ", Rest/binary>>, Length) when Length > 0 ->
    target(Rest, other);
method(<<"\r">>, 0) ->
    more;
method(<<>>, _) ->
    more;
method(_, _) ->
    bad.

target(Bytes, Method) -> target(Bytes, Method, Bytes, 0).

target(<<" ", Rest/binary>>, Method, Start, Length) when Length > 0 ->
    <<Target:Length/binary, _/binary>> = Start,
    version(Rest, Method, Target);
target(<<C, Rest/binary>>, Method, Start, Length) when C > $\s, C =/= 127 ->
    target(Rest, Method, Start, Length + 1);
target(<<>>, _, _, _) ->
    more;
target(_, _, _, _) ->
    bad.

version(<<"HTTP/1.1\r\n", Rest/binary>>, Method, Target) ->
    headers(Rest, Method, Target, {true, false, none});
version(<<"HTTP/1.0\r\n", Rest/binary>>, Method, Target) ->
    headers(Rest, Method, Target, {false, true, none});
version(Bytes, _, _) ->
    case lists:any(fun(Whole) -> is_beginning(Bytes, Whole) end, ?VERSIONS) of
        true -> more;
        false -> bad
    end.

is_beginning(Bytes, Whole) ->
    binary:longest_common_prefix([Bytes, Whole]) =:= byte_size(Bytes).

%% What they say is {Keep, HasHost, Length}: whether the connection is to be kept, whether
%% there is the host that HTTP/1.1 has to name, and the length of the body. Of the headers
%% four matter, and they begin with C, H or T. Nearly every client writes the host so.
headers(<<"\r\n", Rest/binary>>, Method, Target, {Keep, true, _}) ->
    {Method, Target, Keep, Rest};
headers(<<"\r\n", _/binary>>, _, _, _) ->
    bad;
headers(<<"Host:", Rest/binary>>, Method, Target, {Keep, _, Length}) ->
    value(Rest, Method, Target, {Keep, true, Length});
headers(<<C, _/binary>> = Line, Method, Target, Said) when
    C =:= $C; C =:= $c; C =:= $H; C =:= $h; C =:= $T; C =:= $t
->
    case binary:split(Line, <<"\r\n">>) of
        [Header, Rest] ->
            case said(Header, Said) of
                bad -> bad;
                More -> headers(Rest, Method, Target, More)
            end;
        [_] ->
            more
    end;
headers(<<C, Rest/binary>>, Method, Target, Said) when C > $\s, C =/= $: ->
    name(Rest, Method, Target, Said);
headers(<<"\r">>, _, _, _) ->
    more;
headers(<<>>, _, _, _) ->
    more;
headers(_, _, _, _) ->
    bad.

name(<<":", Rest/binary>>, Method, Target, Said) -> value(Rest, Method, Target, Said);
name(<<C, Rest/binary>>, Method, Target, Said) when C > $\s -> name(Rest, Method, Target, Said);
name(<<>>, _, _, _) -> more;
name(_, _, _, _) -> bad.

value(<<"\r\n", Rest/binary>>, Method, Target, Said) -> headers(Rest, Method, Target, Said);
value(<<"\r">>, _, _, _) -> more;
value(<<C, Rest/binary>>, Method, Target, Said) when C >= $\s; C =:= $\t ->
    value(Rest, Method, Target, Said);
value(<<>>, _, _, _) -> more;
value(_, _, _, _) -> bad.

%% What is said with this header as well, or `bad`. No body is ever read, so that where
%% there may be one the connection ends with the answer.
said(Header, {Keep, HasHost, Length} = Said) ->
    case binary:split(Header, <<":">>) of
        [Name, Value] ->
            case string:lowercase(Name) of
                <<"host">> -> {Keep, true, Length};
                <<"connection">> -> {Keep andalso not asks_to_close(Value), HasHost, Length};
                <<"content-length">> -> with_length(string:trim(Value), Said);
                <<"transfer-encoding">> -> {false, HasHost, Length};
                Other -> case binary:match(Other, [<<" ">>, <<"\t">>]) of
                    nomatch -> Said;
                    _ -> bad
                end
            end;
        [_] ->
            bad
    end.

with_length(Length, {Keep, HasHost, Before}) when Before =:= none; Before =:= Length ->
    case Length =/= <<>> andalso lists:all(fun is_digit/1, binary_to_list(Length)) of
        true -> {Keep andalso Length =:= <<"0">>, HasHost, Length};
        false -> bad
    end;
with_length(_, _) ->
    bad.

is_digit(C) -> C >= $0 andalso C =< $9.

asks_to_close(Value) ->
    Tokens = string:lexemes(string:lowercase(Value), ", \t"),
    lists:member(<<"close">>, Tokens).

%% ---- What it is answered ---------------------------------------------------

answer(Method, <<"/hello?", Query/binary>>, More, Random) when Method =/= other ->
    case id(Query) of
        error -> {no_id(Method, More), Random};
        Id -> hello(Method, Id, More, Random)
    end;
answer(other, <<"/hello">>, More, Random) ->
    {not_allowed(More), Random};
answer(other, <<"/hello?", _/binary>>, More, Random) ->
    {not_allowed(More), Random};
answer(Method, <<"/hello">>, More, Random) ->
    {no_id(Method, More), Random};
answer(Method, <<"/", _/binary>>, More, Random) ->
    {response(Method, <<"404 Not Found">>, More, <<"not found\n">>), Random};
answer(Method, _, More, Random) ->
    {response(Method, <<"400 Bad Request">>, More, <<"bad request\n">>), Random}.

hello(Method, Id, More, Random) ->
    {Number, Next} = number(Random),
    Body = <<"hello ", Id/binary, ", your random number is ", Number/binary, "\n">>,
    {response(Method, <<"200 OK">>, More, Body), Next}.

no_id(Method, More) ->
    Why = <<"the id has to be 1 to 64 letters and digits\n">>,
    response(Method, <<"400 Bad Request">>, More, Why).

not_allowed(More) ->
    Headers = <<"Allow: GET, HEAD\r\n", More/binary>>,
    response(other, <<"405 Method Not Allowed">>, Headers, <<"method not allowed\n">>).

response(Method, Status, More, Body) ->
    Length = integer_to_binary(byte_size(Body)),
    Head = <<
        "HTTP/1.1 ", Status/binary, "\r\nDate: ", (date_now())/binary,
        "\r\nContent-Type: text/plain\r\n", More/binary, "Content-Length: ", Length/binary,
        "\r\n\r\n"
    >>,
    case Method of
        head -> Head;
        _ -> <<Head/binary, Body/binary>>
    end.

%% The query's id, if it is safe to echo into any kind of text.
id(<<"id=", Rest/binary>>) ->
    id(Rest, Rest, 0);
id(Query) ->
    case binary:split(Query, <<"&">>) of
        [_, More] -> id(More);
        [_] -> error
    end.

id(<<C, Rest/binary>>, Start, Length) when
    (C >= $0 andalso C =< $9) orelse (C >= $A andalso C =< $Z) orelse (C >= $a andalso C =< $z)
->
    id(Rest, Start, Length + 1);
id(<<>>, Start, Length) when Length > 0, Length =< ?ID_LENGTH_MAX ->
    Start;
id(<<"&", _/binary>>, Start, Length) when Length > 0, Length =< ?ID_LENGTH_MAX ->
    binary:part(Start, 0, Length);
id(_, _, _) ->
    error.

%% A random number of 32 hexadecimal digits, from the runtime's cheapest generator.
number(Random) ->
    A = rand:mwc59(Random),
    B = rand:mwc59(A),
    C = rand:mwc59(B),
    D = rand:mwc59(C),
    {<<(digits(A))/binary, (digits(B))/binary, (digits(C))/binary, (digits(D))/binary>>, D}.

digits(Random) ->
    Bits = rand:mwc59_value32(Random),
    <<
        (digit(Bits bsr 28)), (digit(Bits bsr 24)), (digit(Bits bsr 20)), (digit(Bits bsr 16)),
        (digit(Bits bsr 12)), (digit(Bits bsr 8)), (digit(Bits bsr 4)), (digit(Bits))
    >>.

digit(Bits) ->
    element(Bits band 15 + 1, {$0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $a, $b, $c, $d, $e, $f}).

%% The Date header's value is made once a second and kept in a table.
start_clock() ->
    Self = self(),
    Clock = spawn(fun() ->
        ?MODULE = ets:new(?MODULE, [named_table, protected, {read_concurrency, true}]),
        tick(),
        Self ! clock_runs,
        clock()
    end),
    receive
        clock_runs -> Clock
    end.

clock() ->
    receive after 1000 - erlang:system_time(millisecond) rem 1000 -> ok end,
    tick(),
    clock().

tick() ->
    {{Year, Month, Day} = Date, {Hour, Minute, Second}} = calendar:universal_time(),
    DayName = element(
        calendar:day_of_the_week(Date), {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
    ),
    MonthName = element(
        Month, {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
    ),
    Text = io_lib:format("~s, ~2..0w ~s ~4..0w ~2..0w:~2..0w:~2..0w GMT", [
        DayName, Day, MonthName, Year, Hour, Minute, Second
    ]),
    ets:insert(?MODULE, {date, iolist_to_binary(Text)}).

date_now() ->
    ets:lookup_element(?MODULE, date, 2).
