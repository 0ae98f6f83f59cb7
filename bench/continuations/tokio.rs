// bench/continuations/tokio.rs: tasks of Tokio each of which awaits the one before, and many that one awaits.
#[path = "../harness/tokio_system.rs"]
mod system;

use harness::posting::System;
use harness::{Parameters, Sample, timed};
use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A task for each link, which awaits the one before.
// [chain]
async fn chain(first: tokio::task::JoinHandle<u64>, links: u64) -> u64 {
    let mut last = first;
    for _ in 0..links {
        last = tokio::spawn(async move { last.await.unwrap() + 1 });
    }
    last.await.unwrap()
}
// [/chain]

fn then_before(given: &Parameters) -> Sample {
    let links = given.number("links", 1_000_000);
    let pool = Pool::new(given.workers());
    timed(links as f64, links, || {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let first = pool.0.spawn(async move { receiver.await.unwrap() });
        let whole = pool.0.spawn(async move {
            let mut last = first;
            for _ in 0..links {
                last = tokio::spawn(async move { last.await.unwrap() + 1 });
            }
            sender.send(0).unwrap();
            last.await.unwrap()
        });
        pool.0.block_on(whole).unwrap()
    })
}

fn then_meanwhile(given: &Parameters) -> Sample {
    let links = given.number("links", 1_000_000);
    let pool = Pool::new(given.workers());
    timed(links as f64, links, || {
        let first = pool.0.spawn(async { 0 });
        pool.0.block_on(pool.0.spawn(chain(first, links))).unwrap()
    })
}

fn awaits(given: &Parameters) -> Sample {
    let links = given.number("links", 1_000_000);
    let pool = Pool::new(given.workers());
    timed(links as f64, links, || {
        let whole = pool.0.spawn(async move {
            let mut reached = 0;
            for _ in 0..links {
                reached = tokio::spawn(async move { reached + 1 }).await.unwrap();
            }
            reached
        });
        pool.0.block_on(whole).unwrap()
    })
}

fn main() {
    harness::run_program("continuations", "Tokio", "tokio", &[("then_before", then_before), ("then_meanwhile", then_meanwhile), ("await", awaits), ("fan", harness::posting::fan::<Pool>)]);
}
