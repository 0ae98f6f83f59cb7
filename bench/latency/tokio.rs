// bench/latency/tokio.rs: how long tasks wait in Tokio, and what its workers take of a core.
#[path = "../harness/tokio_system.rs"]
mod system;

use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    harness::run_program("latency", "Tokio", "tokio", &[("wake", harness::posting::wake::<Pool>), ("idle", harness::posting::idle::<Pool>), ("each_ms", harness::posting::each_ms::<Pool>)]);
}
