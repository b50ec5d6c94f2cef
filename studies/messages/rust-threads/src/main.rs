//! What a message between two threads costs, over the channels of the standard library.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use account::{Account, Payloads, Token, argument, resident};

const ROUND: usize = 1_000_000;
const RING: usize = 1_000;
const BATCH: usize = 1_000;
/// For the first batch, so that each of its threads has begun when its memory is looked at.
const SETTLES: Duration = Duration::from_millis(100);

/// What goes one way without a bound.
enum Message {
    Payload(u32),
    Done,
}

/// Sends until its receiver is gone, and waits for it after each round.
fn send_rounds(mut payloads: Payloads, sender: &Sender<Message>, confirmed: &Receiver<()>) {
    loop {
        let round = payloads.by_ref().take(ROUND).map(Message::Payload);
        if round.chain([Message::Done]).any(|message| sender.send(message).is_err())
            || confirmed.recv().is_err()
        {
            return;
        }
    }
}

fn one_way_unbounded(payloads: Payloads, account: &mut Account) {
    let (sender, receiver) = mpsc::channel();
    let (confirm, confirmed) = mpsc::channel();
    thread::spawn(move || send_rounds(payloads, &sender, &confirmed));
    for message in receiver {
        match message {
            Message::Payload(payload) if !account.add(payload) => return,
            Message::Payload(_) => {}
            Message::Done => confirm.send(()).expect("a sender that waits"),
        }
    }
}

fn one_way(mut payloads: Payloads, capacity: usize, account: &mut Account) {
    let (sender, receiver) = mpsc::sync_channel(capacity);
    // It ends when the receiver is gone.
    thread::spawn(move || payloads.try_for_each(|payload| sender.send(payload)));
    receiver.into_iter().all(|payload| account.add(payload));
}

fn ping_pong(payloads: Payloads, account: &mut Account) {
    let (ping, pinged) = mpsc::channel();
    let (pong, ponged) = mpsc::channel();
    thread::spawn(move || pinged.into_iter().try_for_each(|payload| pong.send(payload)));
    for payload in payloads {
        ping.send(payload).expect("a thread that answers");
        if !account.add(ponged.recv().expect("an answer")) {
            return;
        }
    }
}

fn ring(payloads: Payloads, account: &mut Account) {
    let (first, mut last) = mpsc::channel();
    for _ in 1..RING {
        let (output, next) = mpsc::channel();
        let input = std::mem::replace(&mut last, next);
        thread::spawn(move || {
            input.into_iter().try_for_each(|token: Token| output.send(token.hop()))
        });
    }
    let mut token = Token { payloads, sum: 0, done: 0 };
    loop {
        first.send(token).expect("a ring");
        token = last.recv().expect("a ring").hop();
        if !account.take_over(&token) {
            return;
        }
    }
}

/// Returns the bytes that each thread of the first batch took.
fn spawn(mut payloads: Payloads, account: &mut Account) -> u64 {
    let before = resident();
    let mut bytes_each = 0;
    loop {
        let released = Arc::new(Barrier::new(BATCH + 1));
        let create = |payload| {
            let released = Arc::clone(&released);
            thread::spawn(move || {
                released.wait();
                payload
            })
        };
        let threads: Vec<JoinHandle<u32>> = payloads.by_ref().take(BATCH).map(create).collect();
        if account.done() == 0 {
            thread::sleep(SETTLES);
            bytes_each = (resident() - before) / BATCH as u64;
        }
        released.wait();
        threads.into_iter().for_each(|thread| account.count(thread.join().expect("a payload")));
        if !account.tell() {
            return bytes_each;
        }
    }
}

fn main() {
    let does = argument("--does");
    let payloads = Payloads::new(argument("--seed").parse().expect("a seed"));
    let mut account = Account::begin(argument("--seconds").parse().expect("seconds"));
    let mut result = String::new();
    match does.as_str() {
        "oneway-unbounded" => one_way_unbounded(payloads, &mut account),
        "oneway-1" => one_way(payloads, 1, &mut account),
        "oneway-64" => one_way(payloads, 64, &mut account),
        "oneway-1024" => one_way(payloads, 1024, &mut account),
        "pingpong" => ping_pong(payloads, &mut account),
        "ring" => ring(payloads, &mut account),
        "spawn" => result = format!(r#""bytes_each": {}"#, spawn(payloads, &mut account)),
        _ => panic!("it can't do {does}"),
    }
    println!(r#"{{"result": {{{result}}}}}"#);
}
