// bench/continuations/nio.rs: tasks of Nio that one awaits, one after the other, or whose results one sum waits for.
#[path = "../harness/nio_system.rs"]
mod system;

use harness::posting::{System, fan};
use harness::{Parameters, Sample, run_program, timed};
use system::Pool;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn awaits(given: &Parameters) -> Sample {
    let links = given.number("links", 1_000_000);
    let pool = Pool::new(given.workers());
    timed(links as f64, links, || {
        let all = pool.0.spawn(async move {
            let mut value = 0;
            for _ in 0..links {
                value = nio::spawn(async move { value + 1 }).await.unwrap();
            }
            value
        });
        nio_future::block_on(all).unwrap()
    })
}

fn main() {
    run_program("continuations", "Nio", "nio", &[("await", awaits), ("fan", fan::<Pool>)]);
}
