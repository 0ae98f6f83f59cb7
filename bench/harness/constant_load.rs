// bench/harness/constant_load.rs: bench/harness/constant_load.hpp in Rust: tasks that leave no worker without any.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use crate::{tally, thread_cpu_ns, work_for};

/// Where tasks compute.
pub trait Compute: Send + Sync + 'static {
    /// Runs it on a worker, some time.
    fn post<F: FnOnce() + Send + 'static>(&self, task: F);
}

/// That run or wait at any time: what leaves no worker without any.
pub const TASKS_PER_WORKER: u64 = 4;

/// So many tasks of one length, each of which counts itself and posts its successor when it ends.
pub struct Load<C> {
    pub compute: C,
    steps: u64,
    is_over: AtomicBool,
    left: AtomicU64,
}

impl<C: Compute> Load<C> {
    pub fn begin(compute: C, tasks: u64, steps: u64) -> Arc<Self> {
        let load = Arc::new(Load { compute, steps, is_over: AtomicBool::new(false), left: AtomicU64::new(tasks) });
        (0..tasks).for_each(|_| post_one(load.clone()));
        load
    }

    /// Sleeps until the last one has ended.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        while self.left.load(Ordering::Acquire) != 0 {
            sleep(Duration::from_micros(100));
        }
    }
}

fn post_one<C: Compute>(load: Arc<Load<C>>) {
    let next = load.clone();
    load.compute.post(move || run_one(next));
}

fn run_one<C: Compute>(load: Arc<Load<C>>) {
    work_for(load.steps);
    tally::count();
    if load.is_over.load(Ordering::Relaxed) {
        load.left.fetch_sub(1, Ordering::Release);
    } else {
        post_one(load);
    }
}

/// The same, whose tasks tell what they take of a processor.
pub struct Measured<C>(pub C);

static MEASURED_NS: AtomicU64 = AtomicU64::new(0);

/// What all measured tasks of the program have taken of processors.
pub fn measured_ns() -> u64 {
    MEASURED_NS.load(Ordering::Relaxed)
}

impl<C: Compute> Compute for Measured<C> {
    fn post<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.post(move || {
            let begin = thread_cpu_ns();
            task();
            MEASURED_NS.fetch_add((thread_cpu_ns() - begin) as u64, Ordering::Relaxed);
        });
    }
}
