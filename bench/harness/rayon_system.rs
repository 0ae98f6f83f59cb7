// bench/harness/rayon_system.rs: rayon as a system that takes tasks.
use std::sync::mpsc;
use harness::posting::System;

/// Results come through a channel, which is what its users write.
pub struct Pool(pub rayon::ThreadPool);

impl System for Pool {
    type Handle = mpsc::Receiver<u64>;

    fn new(workers: usize) -> Self {
        Pool(rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap())
    }

    fn post<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.spawn(task);
    }

    fn spread<F: Fn() + Copy + Send + Sync + 'static>(&self, count: u64, task: F) {
        self.0.spawn(move || rayon::scope(|scope| (0..count).for_each(|_| scope.spawn(move |_| task()))));
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.0.spawn(move || sender.send(task()).unwrap());
        receiver
    }

    fn get(&self, handle: Self::Handle) -> u64 {
        handle.recv().unwrap()
    }
}
