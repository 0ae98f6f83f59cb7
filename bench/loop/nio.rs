//! bench/loop/nio.rs: Nio with a runtime of one thread: a post is a task that is spawned from another thread, a timer a task
//! that sleeps.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use harness::{Parameters, Sample, loops, run_program, steps_of, timed, work_for};
use nio::{LocalRuntime, RuntimeBuilder, Sleep};
use tokio::sync::Notify;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn one_thread() -> LocalRuntime {
    RuntimeBuilder::new().worker_threads(1).build().unwrap()
}

/// Counts what has run, and says when all has.
struct Counter {
    ran: AtomicU64,
    over: Notify,
}

fn post(given: &Parameters) -> Sample {
    let producers = given.number("producers", 1);
    let each = given.number("tasks", 1_000_000) / producers;
    let expected = producers * each;
    timed(expected as f64, expected, || {
        let mut runtime = one_thread();
        let context = runtime.runtime_context();
        let counter = Arc::new(Counter { ran: AtomicU64::new(0), over: Notify::new() });
        std::thread::scope(|scope| {
            for _ in 0..producers {
                let (context, counter) = (context.clone(), counter.clone());
                scope.spawn(move || {
                    for _ in 0..each {
                        let counter = counter.clone();
                        drop(context.spawn(async move {
                            if counter.ran.fetch_add(1, Ordering::Relaxed) + 1 == expected {
                                counter.over.notify_one();
                            }
                        }));
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
                nio::sleep(Duration::from_millis(1)).await;
                Instant::now() < due
            };
            let all: Vec<_> = (0..count).map(|_| nio::spawn_local(sleep())).collect();
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
    one_thread().block_on(async { loops::timed_sleeps(pending, Sleep::at) })
}

fn hop(given: &Parameters) -> Sample {
    let (is_busy, steps) = (loops::is_busy(given), steps_of(loops::BUSY_JOB_NS));
    let is_over = AtomicBool::new(false);
    let end = Notify::new();
    let (ready, running) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut runtime = one_thread();
            ready.send(runtime.runtime_context()).unwrap();
            runtime.block_on(async {
                while is_busy && !is_over.load(Ordering::Relaxed) {
                    work_for(steps);
                    nio_future::yield_now().await;
                }
                end.notified().await;
            })
        });
        let context = running.recv().unwrap();
        let sample = loops::timed_hops(given, |start| drop(context.spawn(async { start.has_come() })));
        is_over.store(true, Ordering::Relaxed);
        end.notify_one();
        sample
    })
}

fn main() {
    run_program("loop", "Nio", "nio", &[("post", post), ("timers", timers), ("arm", arm), ("hop", hop)]);
}
