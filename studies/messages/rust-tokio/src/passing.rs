//! The works that pass messages from task to task.

use account::{Account, Payloads, Token};
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedSender};

const ROUND: usize = 1_000_000;
const RING: usize = 1_000;
/// Messages between two looks at how many wait.
const LOOK_EVERY: u64 = 1_000;

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
pub async fn one_way_unbounded(payloads: Payloads, mut account: Account) -> usize {
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

pub async fn one_way(payloads: Payloads, capacity: usize, mut account: Account) {
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

pub async fn ping_pong(payloads: Payloads, mut account: Account) {
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

pub async fn ring(payloads: Payloads, mut account: Account) {
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
