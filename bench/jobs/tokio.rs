// bench/jobs/tokio.rs: empty tasks of Tokio that a task spawns and waits for; in order, each awaits the one before.
#[path = "../harness/tokio_system.rs"]
mod system;

use harness::posting::{System, batches};
use harness::{Parameters, Sample, tally};
use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn basic(given: &Parameters) -> Sample {
    let pool = Pool::new(given.workers());
    batches(given, |jobs| {
        let batch = pool.0.spawn(async move {
            let all: Vec<_> = (0..jobs).map(|_| tokio::spawn(async { tally::count() })).collect();
            for each in all {
                each.await.unwrap();
            }
        });
        pool.0.block_on(batch).unwrap();
    })
}

fn basic_ordered(given: &Parameters) -> Sample {
    let pool = Pool::new(given.workers());
    batches(given, |jobs| {
        let batch = pool.0.spawn(async move {
            let mut last = tokio::spawn(async {});
            for _ in 0..jobs {
                last = tokio::spawn(async move {
                    last.await.unwrap();
                    tally::count();
                });
            }
            last.await.unwrap();
        });
        pool.0.block_on(batch).unwrap();
    })
}

fn main() {
    harness::run_program("jobs", "Tokio", "tokio", &[("basic", basic), ("basic_ordered", basic_ordered)]);
}
