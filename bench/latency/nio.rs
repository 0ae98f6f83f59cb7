// bench/latency/nio.rs: how long tasks wait in Nio, what its workers take of a core, and how long its I/O waits beside tasks
// on the same workers.
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU8;
use std::time::{Duration, Instant};

use harness::constant_load::{Compute, Load};
use harness::posting::{each_ms, idle, wake};
use nio::net::TcpListener;
use nio::{Runtime, RuntimeBuilder, Sleep};

#[path = "../echo/nio_server.rs"]
mod server;
#[path = "../harness/nio_system.rs"]
mod system;
#[path = "io_under_load.rs"]
mod under_load;

use system::Pool;
use under_load::{IoSystem, io_under_load, keep_time};

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Its workers never end, so there is one runtime for the whole program.
struct Waits(&'static Runtime);

/// On the workers that wait; a connection stays with the worker that had least to do when it came.
async fn serve(mut listener: TcpListener) {
    while let Ok(accepted) = listener.accept().await {
        nio::spawn_pinned(|| server::echo(accepted));
    }
}

/// From now on: what its own `sleep` counts from is when the worker looked at the clock last.
fn sleep_for(span: Duration) -> Sleep {
    Sleep::at(Instant::now() + span)
}

impl IoSystem for Waits {
    type Compute = Workers;

    fn new(workers: usize) -> Self {
        static RUNTIME: OnceLock<Runtime> = OnceLock::new();
        Waits(RUNTIME.get_or_init(|| RuntimeBuilder::new().worker_threads(workers as u8).rt().unwrap()))
    }

    fn listen(&self) -> u16 {
        let (ready, listening) = std::sync::mpsc::channel();
        self.0.spawn_pinned_at(0, || async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            ready.send(listener.local_addr().unwrap().port()).unwrap();
            serve(listener).await;
        });
        listening.recv().unwrap()
    }

    fn start_timers(&self, phase: Arc<AtomicU8>) -> impl FnOnce() -> Vec<f64> {
        let timers = self.0.spawn_pinned(|| keep_time(phase, sleep_for));
        move || nio_future::block_on(timers).unwrap()
    }

    /// From a thread that may spawn as tasks do.
    fn begin_load(&self, tasks: u64, steps: u64) -> Arc<Load<Workers>> {
        let context = self.0.context();
        let begin = move || {
            context.enter();
            Load::begin(Workers, tasks, steps)
        };
        std::thread::spawn(begin).join().unwrap()
    }
}

struct Workers;

impl Compute for Workers {
    fn post<F: FnOnce() + Send + 'static>(&self, task: F) {
        drop(nio::spawn(async move { task() }));
    }
}

fn main() {
    harness::run_program(
        "latency",
        "Nio",
        "nio",
        &[
            ("wake", wake::<Pool>),
            ("idle", idle::<Pool>),
            ("each_ms", each_ms::<Pool>),
            ("io_under_load", io_under_load::<Waits>),
        ],
    );
}
