// bench/latency/nio.rs: how long tasks wait in Nio, and what its workers take of a core.
#[path = "../harness/nio_system.rs"]
mod system;

use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    harness::run_program("latency", "Nio", "nio", &[("wake", harness::posting::wake::<Pool>), ("idle", harness::posting::idle::<Pool>), ("each_ms", harness::posting::each_ms::<Pool>)]);
}
