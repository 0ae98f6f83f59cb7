// bench/harness/nio_system.rs: Nio as a system that takes tasks.
use harness::posting::System;
use nio::{Runtime, RuntimeBuilder};
use std::sync::OnceLock;

/// Its workers never end, so there is one runtime for the whole program.
pub struct Pool(pub &'static Runtime);

impl System for Pool {
    type Handle = nio::JoinHandle<u64>;

    fn new(workers: usize) -> Self {
        static RUNTIME: OnceLock<Runtime> = OnceLock::new();
        Pool(RUNTIME.get_or_init(|| RuntimeBuilder::new().worker_threads(workers as u8).rt().unwrap()))
    }

    fn post<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.spawn(async move { task() });
    }

    fn spread<F: Fn() + Copy + Send + Sync + 'static>(&self, count: u64, task: F) {
        self.0.spawn(async move {
            for _ in 0..count {
                nio::spawn(async move { task() });
            }
        });
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle {
        self.0.spawn(async move { task() })
    }

    fn get(&self, handle: Self::Handle) -> u64 {
        nio_future::block_on(handle).unwrap()
    }
}
