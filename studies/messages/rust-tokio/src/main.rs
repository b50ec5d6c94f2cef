//! What a message between two of tokio's tasks costs, over its channels.

mod passing;
mod tasks;

use std::num::NonZero;
use std::thread::available_parallelism;

use account::{Account, Payloads, argument};
use passing::{one_way, one_way_unbounded, ping_pong, ring};
use tasks::{spawn, switch};
use tokio::runtime::Builder;

/// Does a work, and returns what its result has.
async fn work(does: String, payloads: Payloads, account: Account) -> String {
    match does.as_str() {
        "oneway-unbounded" => {
            let longest = one_way_unbounded(payloads, account).await;
            return format!(r#""longest_queue": {longest}"#);
        }
        "oneway-1" => one_way(payloads, 1, account).await,
        "oneway-64" => one_way(payloads, 64, account).await,
        "oneway-1024" => one_way(payloads, 1024, account).await,
        "pingpong" => ping_pong(payloads, account).await,
        "ring" => ring(payloads, account).await,
        "spawn" => return format!(r#""bytes_each": {}"#, spawn(payloads, account).await),
        _ => panic!("it can't do {does}"),
    }
    String::new()
}

fn main() {
    let does = argument("--does");
    let payloads = Payloads::new(argument("--seed").parse().expect("a seed"));
    let cores = available_parallelism().map_or(1, NonZero::get);
    // Two tasks that hand over to each other are on one thread, however many cores there are.
    let mut runtime = if cores == 1 || does == "switch" {
        Builder::new_current_thread()
    } else {
        Builder::new_multi_thread()
    };
    let runtime = runtime.enable_time().build().expect("a runtime");
    let account = Account::begin(argument("--seconds").parse().expect("seconds"));
    let result = if does == "switch" {
        runtime.block_on(switch(payloads, account));
        String::new()
    } else {
        // Spawned, because this thread is none of the runtime's workers.
        runtime.block_on(runtime.spawn(work(does, payloads, account))).expect("its end")
    };
    println!(r#"{{"result": {{{result}}}}}"#);
}
