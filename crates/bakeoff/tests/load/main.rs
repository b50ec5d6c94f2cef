//! `bakeoff load` as its users meet it.
//!
//! - [`asked`]: bodies, placeholders, headers, and the statuses that are good;
//! - [`backlog`]: thousands of connections and a common listen queue;
//! - [`bodies`]: bodies larger than all that lies between it and the server;
//! - [`brokers`]: robots in rooms, against real brokers: mosquitto, NATS and Redis;
//! - [`client`]: the same load as the client of a trial;
//! - [`command`]: what it sends, says, writes and exits with;
//! - [`fallback`]: where the kernel permits no io_uring;
//! - [`left_waiting`]: who is said to have been left waiting;
//! - [`lost_connections`]: what becomes of requests on a connection that ends;
//! - [`misbehaving`]: against a server that does everything wrong;
//! - [`misbehaving_stores`]: against stores that do;
//! - [`namespaces`]: from hosts with networks and clocks of their own;
//! - [`nginx`]: against one that does nothing wrong;
//! - [`nonces`]: what no two runs ask for;
//! - [`one_queue`]: the same load with one thread and with several;
//! - [`other_tools`]: as a page writes it for people who know another one;
//! - [`ports`]: on a machine with hardly any ports;
//! - [`rooms`]: robots in rooms, beside relays that lie;
//! - [`several_hosts`]: from several hosts, of which some fail;
//! - [`searches`]: whose limit `--find-rate` finds;
//! - [`stores`]: against real ones, Redis and memcached;
//! - [`support`]: the server that a test commands, and the run against it;
//! - [`uploads`]: against one that doesn't wait for the end of a large request;
//! - [`warm_up`]: what is left out of every figure.

mod asked;
mod backlog;
mod bodies;
mod brokers;
mod client;
mod command;
mod fallback;
#[path = "../fixture/free_address.rs"]
mod free_address;
mod left_waiting;
mod lost_connections;
mod misbehaving;
mod misbehaving_stores;
mod namespaces;
mod nginx;
mod nonces;
mod one_queue;
mod other_tools;
mod ports;
mod rooms;
mod searches;
mod several_hosts;
#[path = "../fixture/shortened.rs"]
mod shortened;
#[path = "../fixture/skipped.rs"]
mod skipped;
mod stores;
mod support;
mod uploads;
mod warm_up;
#[path = "../fixture/without_io_uring.rs"]
mod without_io_uring;
