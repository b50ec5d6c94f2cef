%% Where nodes of the mesh listen: each has an address of its own, and all have the same port. It
%% takes the place of the runtime's name server, which would go on after its nodes.
-module(mesh_names).
-export([start_link/0, register_node/3, listen_port_please/2, address_please/3]).

-define(PROTOCOL, 6).

start_link() -> ignore.

%% The number tells a node from one before it with its name, which there is none of.
register_node(_Name, _Port, _Family) -> {ok, 4}.

listen_port_please(_Name, _Host) -> {ok, port()}.

address_please(_Name, Host, inet) ->
    {ok, Address} = inet:parse_ipv4_address(Host),
    {ok, Address, port(), ?PROTOCOL}.

port() -> list_to_integer(os:getenv("PORT")).
