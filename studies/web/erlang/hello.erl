%% A hello-world server on gen_tcp: the runtime's own HTTP packet parser, one
%% process a connection, several acceptors.
-module(hello).
-export([start/1]).
-compile({no_auto_import, [date/0]}).

-define(ACCEPTORS, 16).
%% Before another try where no connection can be accepted.
-define(PAUSE_MS, 100).
-define(HEADERS_MAX, 100).
-define(ID_LENGTH_MAX, 64).

%% What a request's headers have said so far: whether the connection is to be kept, whether
%% there is the host that HTTP/1.1 has to name, and the length of the body.
-record(said, {keep, has_host, length = none}).

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
        {packet, http_bin},
        {active, false},
        {reuseaddr, true},
        {nodelay, true},
        {backlog, 8192}
    ]),
    %% A socket closes with its owner, and this process ends when the start is done.
    ok = gen_tcp:controlling_process(Listener, start_clock()),
    [spawn(fun() -> accept(Listener) end) || _ <- lists:seq(1, ?ACCEPTORS)],
    ok.

%% The acceptor becomes the connection's process, and a new one accepts.
accept(Listener) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} ->
            spawn(fun() -> accept(Listener) end),
            serve(Socket);
        {error, _} ->
            %% Most likely no more files may be open, which passes when a connection ends. Nor
            %% could the module of timer:sleep/1 be loaded then.
            receive after ?PAUSE_MS -> ok end,
            accept(Listener)
    end.

serve(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, {http_request, Method, Target, Version}} ->
            case headers(Socket, said_by(Version), ?HEADERS_MAX) of
                {ok, Keep} ->
                    {Status, Body} = answer(Method, Target),
                    case {gen_tcp:send(Socket, response(Method, Status, Body, Keep)), Keep} of
                        {ok, true} -> serve(Socket);
                        _ -> gen_tcp:close(Socket)
                    end;
                error ->
                    refuse(Socket)
            end;
        {ok, {http_error, Line}} when Line =:= <<"\r\n">>; Line =:= <<"\n">> ->
            %% Empty lines before a request are allowed.
            serve(Socket);
        {ok, _} ->
            refuse(Socket);
        {error, _} ->
            gen_tcp:close(Socket)
    end.

refuse(Socket) ->
    gen_tcp:send(Socket, response('GET', 400, <<"bad request\n">>, false)),
    gen_tcp:close(Socket).

said_by({1, 1}) -> #said{keep = true, has_host = false};
said_by(_) -> #said{keep = false, has_host = true}.

%% Reads headers to their end; tells whether the connection is to be kept.
headers(_Socket, _Said, 0) ->
    error;
headers(Socket, Said, Left) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, http_eoh} when Said#said.has_host -> {ok, Said#said.keep};
        {ok, {http_header, _, Name, _, Value}} ->
            case said(Name, Value, Said) of
                error -> error;
                More -> headers(Socket, More, Left - 1)
            end;
        _ -> error
    end.

%% What is said with this header as well. No body is ever read: what follows where there
%% may be one would be taken for a request.
said('Host', _Value, Said) ->
    Said#said{has_host = true};
said('Connection', Value, Said) ->
    Options = string:lexemes(string:lowercase(binary_to_list(Value)), ", \t"),
    Said#said{keep = Said#said.keep andalso not lists:member("close", Options)};
said('Content-Length', Value, #said{keep = Keep, length = Before} = Said) ->
    case is_number_of_bytes(Value) andalso (Before =:= none orelse Before =:= Value) of
        true -> Said#said{keep = Keep andalso Value =:= <<"0">>, length = Value};
        false -> error
    end;
said('Transfer-Encoding', _Value, Said) ->
    Said#said{keep = false};
said(_Name, _Value, Said) ->
    Said.

is_number_of_bytes(Value) ->
    Value =/= <<>> andalso lists:all(fun(C) -> C >= $0 andalso C =< $9 end, binary_to_list(Value)).

answer(Method, {abs_path, PathAndQuery}) ->
    case binary:split(PathAndQuery, <<"?">>) of
        [<<"/hello">> | Query] when Method =:= 'GET'; Method =:= 'HEAD' ->
            hello(id(Query));
        [<<"/hello">> | _] ->
            {405, <<"method not allowed\n">>};
        _ ->
            {404, <<"not found\n">>}
    end;
answer(_Method, _Target) ->
    {400, <<"bad request\n">>}.

hello({ok, Id}) ->
    Number = string:lowercase(binary:encode_hex(rand:bytes(16))),
    {200, [<<"hello ">>, Id, <<", your random number is ">>, Number, <<"\n">>]};
hello(error) ->
    {400, <<"the id has to be 1 to 64 letters and digits\n">>}.

%% The query's id, if it is safe to echo into any kind of text.
id([Query]) ->
    case uri_string:dissect_query(Query) of
        Pairs when is_list(Pairs) ->
            case lists:keyfind(<<"id">>, 1, Pairs) of
                {_, Id} when is_binary(Id), Id =/= <<>>, byte_size(Id) =< ?ID_LENGTH_MAX ->
                    case lists:all(fun is_alphanumeric/1, binary_to_list(Id)) of
                        true -> {ok, Id};
                        false -> error
                    end;
                _ ->
                    error
            end;
        _ ->
            error
    end;
id([]) ->
    error.

is_alphanumeric(C) ->
    (C >= $0 andalso C =< $9) orelse (C >= $A andalso C =< $Z) orelse (C >= $a andalso C =< $z).

response(Method, Status, Body, Keep) ->
    [
        <<"HTTP/1.1 ">>, reason(Status),
        <<"\r\nDate: ">>, date(),
        <<"\r\nContent-Type: text/plain\r\nContent-Length: ">>,
        integer_to_binary(iolist_size(Body)),
        connection(Keep),
        <<"\r\n\r\n">>,
        case Method of
            'HEAD' -> <<>>;
            _ -> Body
        end
    ].

reason(200) -> <<"200 OK">>;
reason(400) -> <<"400 Bad Request">>;
reason(404) -> <<"404 Not Found">>;
reason(405) -> <<"405 Method Not Allowed\r\nAllow: GET, HEAD">>.

connection(true) -> <<>>;
connection(false) -> <<"\r\nConnection: close">>.

%% The Date header's value is made once a second and kept in a table, as OTP's
%% web servers do.
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
    DayName = element(calendar:day_of_the_week(Date), {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}),
    MonthName = element(
        Month, {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
    ),
    Text = io_lib:format("~s, ~2..0w ~s ~4..0w ~2..0w:~2..0w:~2..0w GMT", [
        DayName, Day, MonthName, Year, Hour, Minute, Second
    ]),
    ets:insert(?MODULE, {date, iolist_to_binary(Text)}).

date() ->
    ets:lookup_element(?MODULE, date, 2).
