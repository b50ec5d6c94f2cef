%% A configuration that a process keeps.
-module(settings_server).
-behaviour(gen_server).
-export([start_link/1, get/1, put/2]).
-export([init/1, handle_call/3, handle_cast/2]).

start_link(Settings) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, maps:from_list(Settings), []).

get(Key) -> gen_server:call(?MODULE, {get, Key}).

put(Key, Value) -> gen_server:call(?MODULE, {put, Key, Value}).

init(Settings) -> {ok, Settings}.

handle_call({get, Key}, _, Settings) -> {reply, maps:get(Key, Settings), Settings};
handle_call({put, Key, Value}, _, Settings) -> {reply, ok, Settings#{Key => Value}}.

handle_cast(_, Settings) -> {noreply, Settings}.
