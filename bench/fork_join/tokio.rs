//! bench/fork_join/tokio.rs: the problems of fork-join by Tokio: futures that are joined within one task, and tasks that
//! are spawned.
use std::future::Future;
use std::pin::Pin;

use harness::problems::{SKYNET_CHILDREN, timed_fib, timed_skynet};
use harness::{Parameters, Sample, run_programs};

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What calls itself must be boxed.
type Later = Pin<Box<dyn Future<Output = u64> + Send>>;

fn fib_joined(n: u64) -> Later {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let (left, right) = tokio::join!(fib_joined(n - 1), fib_joined(n - 2));
        left + right
    })
}

fn fib_spawned(n: u64) -> Later {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let forked = tokio::spawn(fib_spawned(n - 1));
        let right = fib_spawned(n - 2).await;
        forked.await.unwrap() + right
    })
}

fn skynet_joined(first: u64, size: u64) -> Later {
    Box::pin(async move {
        if size == 1 {
            return first;
        }
        let step = size / SKYNET_CHILDREN;
        let child = |i| skynet_joined(first + i * step, step);
        let (a, b, c, d, e, f, g, h, i, j) = tokio::join!(
            child(0), child(1), child(2), child(3), child(4), child(5), child(6), child(7), child(8), child(9)
        );
        a + b + c + d + e + f + g + h + i + j
    })
}

fn skynet_spawned(first: u64, size: u64) -> Later {
    Box::pin(async move {
        if size == 1 {
            return first;
        }
        let step = size / SKYNET_CHILDREN;
        let children: Vec<_> =
            (0..SKYNET_CHILDREN).map(|i| tokio::spawn(skynet_spawned(first + i * step, step))).collect();
        let mut sum = 0;
        for child in children {
            sum += child.await.unwrap();
        }
        sum
    })
}

/// On a worker, as what it forks.
fn on_worker(given: &Parameters) -> impl Fn(Later) -> u64 + use<> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(given.workers()).build().unwrap();
    move |work| runtime.block_on(runtime.spawn(work)).unwrap()
}

fn run_fib(given: &Parameters, fib: fn(u64) -> Later) -> Sample {
    let run = on_worker(given);
    timed_fib(given.number("n", 22), |n| run(fib(n)))
}

fn run_skynet(given: &Parameters, skynet: fn(u64, u64) -> Later) -> Sample {
    let run = on_worker(given);
    timed_skynet(given.number("depth", 4), |first, size| run(skynet(first, size)))
}

fn main() {
    run_programs(
        "fork_join",
        &[
            (
                "Tokio join",
                "tokio",
                &[
                    ("coro_fib", |given| run_fib(given, fib_joined)),
                    ("coro_skynet", |given| run_skynet(given, skynet_joined)),
                ],
            ),
            (
                "Tokio spawn",
                "tokio",
                &[
                    ("coro_fib", |given| run_fib(given, fib_spawned)),
                    ("coro_skynet", |given| run_skynet(given, skynet_spawned)),
                ],
            ),
        ],
    );
}
