//! The contenders of the studies: tests that lie in the folder of one, or of its study.
//!
//! One program, so that those which wait for a server or a build run beside the others.

#[path = "../../../../studies/codecs/tests/main.rs"]
mod codecs;
#[path = "../../../../studies/erlang/tests/main.rs"]
mod erlang;
#[path = "../fixture/mod.rs"]
mod fixture;
#[path = "../../../../studies/gateway/tests/main.rs"]
mod gateway;
#[path = "../../../../studies/messages/tests/main.rs"]
mod messages;
mod started;
#[path = "../../../../studies/web/tests/main.rs"]
mod web;
#[path = "../../../../studies/web/erlang/tests/loading.rs"]
mod web_erlang;
#[path = "../../../../studies/web/fasthttp/tests/building.rs"]
mod web_fasthttp;
#[path = "../../../../studies/web/jvm/tests/collecting.rs"]
mod web_jvm;
#[path = "../../../../studies/web/nginx-module/tests/hostile.rs"]
mod web_nginx_module;
#[path = "../../../../studies/web/node/tests/compiling.rs"]
mod web_node;
