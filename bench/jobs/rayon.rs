// bench/jobs/rayon.rs: empty jobs in a scope of rayon.
#[path = "../harness/rayon_system.rs"]
mod system;

use harness::posting::{System, batches};
use harness::{Parameters, Sample, tally};
use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn basic(given: &Parameters) -> Sample {
    let pool = Pool::new(given.workers());
    let run_batch = |jobs| rayon::scope(|scope| (0..jobs).for_each(|_| scope.spawn(|_| tally::count())));
    pool.0.install(|| batches(given, run_batch))
}

fn main() {
    harness::run_program("jobs", "rayon", "rayon", &[("basic", basic)]);
}
