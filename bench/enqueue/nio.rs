// bench/enqueue/nio.rs: tasks that threads outside hand to Nio.
#[path = "../harness/nio_system.rs"]
mod system;

use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    harness::run_program("enqueue", "Nio", "nio", &[("empty", harness::posting::empty::<Pool>), ("round_trip", harness::posting::round_trip::<Pool>)]);
}
