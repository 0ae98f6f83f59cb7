//! bench/memory/tokio.rs: what a program with a runtime of Tokio has resident, by the allocator of the system.
use std::time::Duration;

use harness::{Parameters, Sample, run_program, small_program};
use tokio::runtime::Runtime;

fn run(given: &Parameters) -> Sample {
    small_program(given, |span: Duration, look| {
        let runtime = Runtime::new().unwrap();
        runtime.block_on(runtime.spawn(async move { tokio::time::sleep(span).await })).unwrap();
        look();
    })
}

fn main() {
    run_program("memory", "Tokio", "tokio", &[("small_program", run)]);
}
