// bench/enqueue/tokio.rs: tasks that threads outside hand to Tokio.
#[path = "../harness/tokio_system.rs"]
mod system;

use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    harness::run_program("enqueue", "Tokio", "tokio", &[("empty", harness::posting::empty::<Pool>), ("round_trip", harness::posting::round_trip::<Pool>)]);
}
