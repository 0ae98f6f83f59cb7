// bench/pools/tokio.rs: many small tasks in Tokio.
#[path = "../harness/tokio_system.rs"]
mod system;

use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    harness::run_program("pools", "Tokio", "tokio", &[("post", harness::posting::post::<Pool>), ("spread", harness::posting::spread::<Pool>), ("submit", harness::posting::submit::<Pool>)]);
}
