// bench/pools/nio.rs: many small tasks in Nio.
#[path = "../harness/nio_system.rs"]
mod system;

use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    harness::run_program("pools", "Nio", "nio", &[("post", harness::posting::post::<Pool>), ("spread", harness::posting::spread::<Pool>), ("submit", harness::posting::submit::<Pool>)]);
}
