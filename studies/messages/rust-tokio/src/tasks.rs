//! The works on tasks themselves, which get no messages: to create and join them, and to switch
//! between two.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use account::{Account, Payloads, resident};
use tokio::sync::Barrier;
use tokio::task::{self, JoinHandle, LocalSet};
use tokio::time;

const BATCH: usize = 10_000;
/// For the first batch, so that each of its tasks has begun when its memory is looked at.
const SETTLES: Duration = Duration::from_millis(100);

/// Returns the bytes that each task of the first batch took.
pub async fn spawn(mut payloads: Payloads, mut account: Account) -> u64 {
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

pub async fn switch(payloads: Payloads, account: Account) {
    let shared = Rc::new(RefCell::new((payloads, account)));
    let both = LocalSet::new();
    both.spawn_local(hand(Rc::clone(&shared)));
    let second = both.spawn_local(hand(shared));
    both.run_until(second).await.expect("its end");
}
