// bench/latency/rayon.rs: how long tasks wait in rayon, and what its workers take of a core.
#[path = "../harness/rayon_system.rs"]
mod system;

use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    harness::run_program("latency", "rayon", "rayon", &[("wake", harness::posting::wake::<Pool>), ("idle", harness::posting::idle::<Pool>), ("each_ms", harness::posting::each_ms::<Pool>)]);
}
