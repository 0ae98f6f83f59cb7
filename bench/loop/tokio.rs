//! bench/loop/tokio.rs: Tokio with a runtime of one thread: a post is a task that is spawned from another thread, a timer a
//! task that sleeps.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use harness::{Parameters, Sample, loops, run_program, steps_of, timed, work_for};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::sleep_until;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// Counts what has run, and says when all has.
struct Counter {
    ran: AtomicU64,
    expected: u64,
    over: Notify,
}

fn post(given: &Parameters) -> Sample {
    let producers = given.number("producers", 1);
    let each = given.number("tasks", 1_000_000) / producers;
    let expected = producers * each;
    timed(expected as f64, expected, || {
        let runtime = one_thread();
        let counter = Arc::new(Counter { ran: AtomicU64::new(0), expected, over: Notify::new() });
        std::thread::scope(|scope| {
            for _ in 0..producers {
                let (handle, counter) = (runtime.handle().clone(), counter.clone());
                scope.spawn(move || {
                    for _ in 0..each {
                        let counter = counter.clone();
                        handle.spawn(async move {
                            if counter.ran.fetch_add(1, Ordering::Relaxed) + 1 == counter.expected {
                                counter.over.notify_one();
                            }
                        });
                    }
                });
            }
            runtime.block_on(counter.over.notified());
        });
        counter.ran.load(Ordering::Relaxed)
    })
}

fn timers(given: &Parameters) -> Sample {
    loops::timed_timers(given, |count| {
        one_thread().block_on(async {
            let sleep = || async {
                let due = Instant::now() + Duration::from_millis(1);
                tokio::time::sleep(Duration::from_millis(1)).await;
                Instant::now() < due
            };
            let all: Vec<_> = (0..count).map(|_| tokio::spawn(sleep())).collect();
            let (mut fired, mut early) = (0, 0);
            for each in all {
                early += u64::from(each.await.unwrap());
                fired += 1;
            }
            (fired, early)
        })
    })
}

fn arm(given: &Parameters) -> Sample {
    let pending = given.number("pending", 1_000_000) as usize;
    one_thread().block_on(async { loops::timed_sleeps(pending, |until| sleep_until(until.into())) })
}

fn hop(given: &Parameters) -> Sample {
    let (is_busy, steps) = (loops::is_busy(given), steps_of(loops::BUSY_JOB_NS));
    let runtime = one_thread();
    let handle = runtime.handle().clone();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            runtime.block_on(async move {
                if is_busy {
                    tokio::spawn(async move {
                        loop {
                            work_for(steps);
                            tokio::task::yield_now().await;
                        }
                    });
                }
                let _ = ended.await;
            })
        });
        let sample = loops::timed_hops(given, |start| drop(handle.spawn(async { start.has_come() })));
        end.send(()).unwrap();
        sample
    })
}

fn main() {
    run_program("loop", "Tokio", "tokio", &[("post", post), ("timers", timers), ("arm", arm), ("hop", hop)]);
}
