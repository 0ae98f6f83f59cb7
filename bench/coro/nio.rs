// bench/coro/nio.rs: crowds of tasks in Nio, whose workers never end: there is one runtime for the whole program.
use std::future::Future;
use std::sync::OnceLock;

mod crowds;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Nio(&'static nio::Runtime);

impl crowds::Runtime for Nio {
    type Handle = nio::JoinHandle<()>;

    fn new(workers: usize) -> Self {
        static RUNTIME: OnceLock<nio::Runtime> = OnceLock::new();
        Nio(RUNTIME.get_or_init(|| nio::RuntimeBuilder::new().worker_threads(workers as u8).rt().unwrap()))
    }

    fn start<F: Future<Output = ()> + Send + 'static>(&self, work: F) -> Self::Handle {
        self.0.spawn(work)
    }

    fn run<T: Send + 'static, F: Future<Output = T> + Send + 'static>(&self, work: F) -> T {
        nio_future::block_on(self.0.spawn(work)).unwrap()
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(work: F) {
        drop(nio::spawn(work));
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        nio_future::yield_now()
    }
}

fn main() {
    harness::run_program("coro", "Nio", "nio", &crowds::all::<Nio>());
}
