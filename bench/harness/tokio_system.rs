// bench/harness/tokio_system.rs: Tokio as a system that takes tasks.
use harness::posting::System;

pub struct Pool(pub tokio::runtime::Runtime);

impl System for Pool {
    type Handle = tokio::task::JoinHandle<u64>;

    fn new(workers: usize) -> Self {
        Pool(tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap())
    }

    fn post<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.spawn(async move { task() });
    }

    fn spread<F: Fn() + Copy + Send + Sync + 'static>(&self, count: u64, task: F) {
        self.0.spawn(async move {
            for _ in 0..count {
                tokio::spawn(async move { task() });
            }
        });
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle {
        self.0.spawn(async move { task() })
    }

    fn get(&self, handle: Self::Handle) -> u64 {
        self.0.block_on(handle).unwrap()
    }
}
