// bench/harness/tokio_compute.rs: where tasks compute beside Tokio's I/O, and tasks that leave no worker without any.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use harness::{tally, work_for};
use tokio::runtime::Handle;

pub trait Compute: Send + Sync + 'static {
    fn new(workers: usize, io: &Handle) -> Self;

    /// Runs it on a worker, some time.
    fn post<F: FnOnce() + Send + 'static>(&self, task: F);
}

/// On the workers that wait for I/O as well.
pub struct SameWorkers(Handle);

impl Compute for SameWorkers {
    fn new(_workers: usize, io: &Handle) -> Self {
        SameWorkers(io.clone())
    }

    fn post<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.spawn(async move { task() });
    }
}

/// On as many of rayon, as the authors of Tokio advise for what computes.
pub struct BesideRayon(rayon::ThreadPool);

impl Compute for BesideRayon {
    fn new(workers: usize, _io: &Handle) -> Self {
        BesideRayon(rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap())
    }

    fn post<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.spawn(task);
    }
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
