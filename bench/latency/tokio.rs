// bench/latency/tokio.rs: how long tasks wait in Tokio, what its workers take of a core, and how long its I/O waits: with
// tasks on the same workers, and with those of rayon beside.
use harness::posting::{each_ms, idle, wake};

#[path = "../harness/tokio_compute.rs"]
mod compute;
#[path = "../harness/tokio_system.rs"]
mod system;
#[path = "io_under_load.rs"]
mod under_load;

use compute::{BesideRayon, SameWorkers};
use system::Pool;
use under_load::io_under_load;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
                    ("io_under_load", io_under_load::<SameWorkers>),
                ],
            ),
            ("Tokio beside rayon", "tokio", &[("io_under_load", io_under_load::<BesideRayon>)]),
        ],
    );
}
