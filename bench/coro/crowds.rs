// bench/coro/crowds.rs: crowds of tasks that are spawned, yield, talk and spawn each other, for any runtime of Rust.
// What begins a crowd runs on a worker, as the crowd does, so that no case pays for a wake from outside.
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use harness::{Parameters, Sample, tally, timed};
use tokio::sync::{Notify, oneshot};

pub trait Runtime: 'static {
    /// Of a task that gives nothing.
    type Handle: Future + Send + 'static;

    fn new(workers: usize) -> Self;

    /// Starts a task, from outside.
    fn start<F: Future<Output = ()> + Send + 'static>(&self, work: F) -> Self::Handle;

    /// Runs a task and waits for what it gives, from outside.
    fn run<T: Send + 'static, F: Future<Output = T> + Send + 'static>(&self, work: F) -> T;

    /// Starts a task that is not awaited, from a task.
    fn spawn<F: Future<Output = ()> + Send + 'static>(work: F);

    fn yield_now() -> impl Future<Output = ()> + Send;
}

/// Counts what a crowd does, and says when all of it is done.
struct Crowd {
    expected: u64,
    done: AtomicU64,
    all_done: Notify,
}

impl Crowd {
    fn count(&self, more: u64) {
        if self.done.fetch_add(more, Ordering::AcqRel) + more == self.expected {
            self.all_done.notify_one();
        }
    }
}

/// From the first spawn to the last end, of so many tasks that do so many things each.
fn timed_crowd<R: Runtime>(given: &Parameters, tasks: u64, each: u64, begin: fn(&Arc<Crowd>, u64)) -> Sample {
    let tasks = given.number("tasks", tasks);
    R::new(given.workers()).run(async move {
        let crowd = Arc::new(Crowd { expected: tasks * each, done: AtomicU64::new(0), all_done: Notify::new() });
        let from = Instant::now();
        begin(&crowd, tasks);
        crowd.all_done.notified().await;
        let wall_ns = from.elapsed().as_nanos() as f64;
        let is_right = crowd.done.load(Ordering::Acquire) == crowd.expected;
        Sample { items: (tasks * each) as f64, wall_ns, is_right, ..Sample::default() }
    })
}

fn spawn_many_local<R: Runtime>(given: &Parameters) -> Sample {
    timed_crowd::<R>(given, 10_000, 1, |crowd, tasks| {
        for _ in 0..tasks {
            let crowd = crowd.clone();
            R::spawn(async move { crowd.count(1) });
        }
    })
}

fn ping_pong<R: Runtime>(given: &Parameters) -> Sample {
    timed_crowd::<R>(given, 1_000, 1, |crowd, tasks| {
        for _ in 0..tasks {
            let crowd = crowd.clone();
            R::spawn(async move {
                let (there, at_pong) = oneshot::channel();
                let (back, at_ping) = oneshot::channel();
                R::spawn(async move {
                    at_pong.await.unwrap();
                    back.send(()).unwrap();
                });
                there.send(()).unwrap();
                at_ping.await.unwrap();
                crowd.count(1);
            });
        }
    })
}

const YIELDS: u64 = 200;

fn yield_many<R: Runtime>(given: &Parameters) -> Sample {
    timed_crowd::<R>(given, 1_000, YIELDS, |crowd, tasks| {
        for _ in 0..tasks {
            let crowd = crowd.clone();
            R::spawn(async move {
                for _ in 0..YIELDS {
                    R::yield_now().await;
                }
                crowd.count(YIELDS);
            });
        }
    })
}

fn chain_on<R: Runtime>(crowd: Arc<Crowd>, left: u64) {
    R::spawn(async move {
        crowd.count(1);
        if left > 1 {
            chain_on::<R>(crowd, left - 1);
        }
    });
}

fn chained_spawn<R: Runtime>(given: &Parameters) -> Sample {
    timed_crowd::<R>(given, 1_000, 1, |crowd, tasks| chain_on::<R>(crowd.clone(), tasks))
}

/// Tasks that are started from outside, and awaited.
fn timed_remote<R: Runtime>(given: &Parameters, tasks: u64, runtime: &R) -> Sample {
    let tasks = given.number("tasks", tasks);
    let before = tally::sum();
    timed(tasks as f64, tasks, || {
        let all: Vec<_> = (0..tasks).map(|_| runtime.start(async { tally::count() })).collect();
        runtime.run(async move {
            for each in all {
                each.await;
            }
        });
        tally::sum() - before
    })
}

fn spawn_many_remote_idle<R: Runtime>(given: &Parameters) -> Sample {
    timed_remote(given, 10_000, &R::new(given.workers()))
}

const BUSY_TASKS_PER_WORKER: usize = 2;

fn stall() {
    std::thread::sleep(Duration::from_micros(10));
}

/// Beside tasks that yield again and again.
fn spawn_many_remote_busy1<R: Runtime>(given: &Parameters) -> Sample {
    let runtime = R::new(given.workers());
    let goes_on = Arc::new(AtomicBool::new(true));
    for _ in 0..given.workers() * BUSY_TASKS_PER_WORKER {
        let goes_on = goes_on.clone();
        drop(runtime.start(async move {
            while goes_on.load(Ordering::Relaxed) {
                R::yield_now().await;
                stall();
            }
        }));
    }
    let sample = timed_remote(given, 10_000, &runtime);
    goes_on.store(false, Ordering::Relaxed);
    sample
}

fn spawn_again<R: Runtime>(goes_on: Arc<AtomicBool>) {
    R::spawn(async move {
        if goes_on.load(Ordering::Relaxed) {
            stall();
            spawn_again::<R>(goes_on);
        }
    });
}

/// Beside tasks that spawn their successors.
fn spawn_many_remote_busy2<R: Runtime>(given: &Parameters) -> Sample {
    let runtime = R::new(given.workers());
    let goes_on = Arc::new(AtomicBool::new(true));
    for _ in 0..given.workers() * BUSY_TASKS_PER_WORKER {
        let goes_on = goes_on.clone();
        drop(runtime.start(async move { spawn_again::<R>(goes_on) }));
    }
    let sample = timed_remote(given, 1_000, &runtime);
    goes_on.store(false, Ordering::Relaxed);
    sample
}

/// Every case.
pub fn all<R: Runtime>() -> [harness::Solution; 7] {
    [
        ("spawn_many_local", spawn_many_local::<R>),
        ("spawn_many_remote_idle", spawn_many_remote_idle::<R>),
        ("spawn_many_remote_busy1", spawn_many_remote_busy1::<R>),
        ("spawn_many_remote_busy2", spawn_many_remote_busy2::<R>),
        ("ping_pong", ping_pong::<R>),
        ("yield_many", yield_many::<R>),
        ("chained_spawn", chained_spawn::<R>),
    ]
}
