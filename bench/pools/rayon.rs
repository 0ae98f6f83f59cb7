// bench/pools/rayon.rs: many small tasks in rayon.
#[path = "../harness/rayon_system.rs"]
mod system;

use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    harness::run_program("pools", "rayon", "rayon", &[("post", harness::posting::post::<Pool>), ("spread", harness::posting::spread::<Pool>), ("submit", harness::posting::submit::<Pool>)]);
}
