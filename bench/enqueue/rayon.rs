// bench/enqueue/rayon.rs: tasks that threads outside hand to rayon.
#[path = "../harness/rayon_system.rs"]
mod system;

use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    harness::run_program("enqueue", "rayon", "rayon", &[("empty", harness::posting::empty::<Pool>), ("round_trip", harness::posting::round_trip::<Pool>)]);
}
