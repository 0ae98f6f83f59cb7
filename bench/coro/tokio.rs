// bench/coro/tokio.rs: crowds of tasks in Tokio.
use std::future::Future;

mod crowds;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Tokio(tokio::runtime::Runtime);

impl crowds::Runtime for Tokio {
    type Handle = tokio::task::JoinHandle<()>;

    fn new(workers: usize) -> Self {
        Tokio(tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap())
    }

    fn start<F: Future<Output = ()> + Send + 'static>(&self, work: F) -> Self::Handle {
        self.0.spawn(work)
    }

    fn run<T: Send + 'static, F: Future<Output = T> + Send + 'static>(&self, work: F) -> T {
        self.0.block_on(self.0.spawn(work)).unwrap()
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(work: F) {
        drop(tokio::spawn(work));
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

fn main() {
    harness::run_program("coro", "Tokio", "tokio", &crowds::all::<Tokio>());
}
