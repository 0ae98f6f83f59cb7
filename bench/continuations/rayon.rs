// bench/continuations/rayon.rs: many tasks of rayon whose results one sum waits for.
#[path = "../harness/rayon_system.rs"]
mod system;

use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    harness::run_program("continuations", "rayon", "rayon", &[("fan", harness::posting::fan::<Pool>)]);
}
