//! What a message between two of tokio's tasks costs, over its channels.

use std::cell::RefCell;
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use account::{Account, Payloads, Token, argument, resident};
use tokio::runtime::Builder;
use tokio::sync::Barrier;
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedSender};
use tokio::task::{self, JoinHandle, LocalSet};
use tokio::time;

const ROUND: usize = 1_000_000;
const RING: usize = 1_000;
const BATCH: usize = 10_000;
/// Messages between two looks at how many wait.
const LOOK_EVERY: u64 = 1_000;
/// For the first batch, so that each of its tasks has begun when its memory is looked at.
const SETTLES: Duration = Duration::from_millis(100);

/// What goes one way without a bound.
enum Message {
    Payload(u32),
    Done,
}

/// Sends until its receiver is gone, and waits for it after each round.
async fn send_rounds(
    mut payloads: Payloads,
    sender: UnboundedSender<Message>,
    mut confirmed: Receiver<()>,
) {
    loop {
        let round = payloads.by_ref().take(ROUND).map(Message::Payload);
        if round.chain([Message::Done]).any(|message| sender.send(message).is_err())
            || confirmed.recv().await.is_none()
        {
            return;
        }
    }
}

/// Returns how many messages waited at most.
async fn one_way_unbounded(payloads: Payloads, mut account: Account) -> usize {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let (confirm, confirmed) = mpsc::channel(1);
    tokio::spawn(send_rounds(payloads, sender, confirmed));
    let mut longest = 0;
    while let Some(message) = receiver.recv().await {
        match message {
            Message::Payload(payload) if !account.add(payload) => break,
            Message::Payload(_) => {}
            Message::Done => confirm.send(()).await.expect("a sender that waits"),
        }
        if account.done().is_multiple_of(LOOK_EVERY) {
            longest = longest.max(receiver.len());
        }
    }
    longest
}

async fn one_way(payloads: Payloads, capacity: usize, mut account: Account) {
    let (sender, mut receiver) = mpsc::channel(capacity);
    tokio::spawn(async move {
        for payload in payloads {
            // The receiver is gone once the time is over.
            if sender.send(payload).await.is_err() {
                return;
            }
        }
    });
    while let Some(payload) = receiver.recv().await
        && account.add(payload)
    {}
}

/// Passes messages on until there are no more.
async fn relay<T>(mut from: Receiver<T>, to: Sender<T>, change: fn(T) -> T) {
    while let Some(message) = from.recv().await
        && to.send(change(message)).await.is_ok()
    {}
}

async fn ping_pong(payloads: Payloads, mut account: Account) {
    let (ping, pinged) = mpsc::channel(1);
    let (pong, mut ponged) = mpsc::channel(1);
    tokio::spawn(relay(pinged, pong, |payload| payload));
    for payload in payloads {
        ping.send(payload).await.expect("a task that answers");
        if !account.add(ponged.recv().await.expect("an answer")) {
            return;
        }
    }
}

async fn ring(payloads: Payloads, mut account: Account) {
    let (first, mut last) = mpsc::channel(1);
    for _ in 1..RING {
        let (output, next) = mpsc::channel(1);
        tokio::spawn(relay(last, output, Token::hop));
        last = next;
    }
    let mut token = Token { payloads, sum: 0, done: 0 };
    loop {
        first.send(token).await.expect("a ring");
        token = last.recv().await.expect("a ring").hop();
        if !account.take_over(&token) {
            return;
        }
    }
}

/// Returns the bytes that each task of the first batch took.
async fn spawn(mut payloads: Payloads, mut account: Account) -> u64 {
    let before = resident();
    let mut bytes_each = 0;
    loop {
        let released = Arc::new(Barrier::new(BATCH + 1));
        let create = |payload| {
            let released = Arc::clone(&released);
            tokio::spawn(async move {
                released.wait().await;
                payload
            })
        };
        let tasks: Vec<JoinHandle<u32>> = payloads.by_ref().take(BATCH).map(create).collect();
        if account.done() == 0 {
            time::sleep(SETTLES).await;
            bytes_each = (resident() - before) / BATCH as u64;
        }
        released.wait().await;
        for task in tasks {
            account.count(task.await.expect("a payload"));
        }
        if !account.tell() {
            return bytes_each;
        }
    }
}

/// One of the two tasks that hand over to each other.
async fn hand(shared: Rc<RefCell<(Payloads, Account)>>) {
    let step = || {
        let (payloads, account) = &mut *shared.borrow_mut();
        payloads.next().is_some_and(|payload| account.add(payload))
    };
    while step() {
        task::yield_now().await;
    }
}

async fn switch(payloads: Payloads, account: Account) {
    let shared = Rc::new(RefCell::new((payloads, account)));
    let both = LocalSet::new();
    both.spawn_local(hand(Rc::clone(&shared)));
    let second = both.spawn_local(hand(shared));
    both.run_until(second).await.expect("its end");
}

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
