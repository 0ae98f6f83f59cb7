// bench/latency/tokio.rs: how long tasks wait in Tokio, what its workers take of a core, and how long its I/O waits: with
// tasks on the same workers, and with those of rayon beside.
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use harness::constant_load::Load;
use harness::posting::{each_ms, idle, wake};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

#[path = "../harness/tokio_compute.rs"]
mod compute;
#[path = "../echo/tokio_server.rs"]
mod server;
#[path = "../harness/tokio_system.rs"]
mod system;
#[path = "io_under_load.rs"]
mod under_load;

use compute::{BesideRayon, BesideTokio, SameWorkers};
use system::Pool;
use under_load::{IoSystem, io_under_load, keep_time};

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Tokio that waits, and computes where `C` says.
struct Waits<C> {
    runtime: Runtime,
    workers: usize,
    computes: PhantomData<C>,
}

impl<C: BesideTokio> IoSystem for Waits<C> {
    type Compute = C;

    fn new(workers: usize) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap();
        Waits { runtime, workers, computes: PhantomData }
    }

    fn listen(&self) -> u16 {
        let listener = self.runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        self.runtime.spawn(server::serve(listener));
        port
    }

    fn start_timers(&self, phase: Arc<AtomicU8>) -> impl FnOnce() -> Vec<f64> {
        let timers = self.runtime.spawn(keep_time(phase, tokio::time::sleep));
        move || self.runtime.block_on(timers).unwrap()
    }

    fn begin_load(&self, tasks: u64, steps: u64) -> Arc<Load<C>> {
        Load::begin(C::new(self.workers, self.runtime.handle()), tasks, steps)
    }
}

fn main() {
    harness::run_programs(
        "latency",
        &[
            (
                "Tokio",
                "tokio",
                &[
                    ("wake", wake::<Pool>),
                    ("idle", idle::<Pool>),
                    ("each_ms", each_ms::<Pool>),
                    ("io_under_load", io_under_load::<Waits<SameWorkers>>),
                ],
            ),
            ("Tokio beside rayon", "tokio", &[("io_under_load", io_under_load::<Waits<BesideRayon>>)]),
        ],
    );
}
