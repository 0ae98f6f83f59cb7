//! bench/memory/nio.rs: what a program with a runtime of Nio has resident, by the allocator of the system. Its workers never
//! end, so there is one runtime for the whole program.
use std::sync::OnceLock;
use std::time::Duration;

use harness::{Parameters, Sample, run_program, small_program};

fn run(given: &Parameters) -> Sample {
    static RUNTIME: OnceLock<nio::Runtime> = OnceLock::new();
    small_program(given, |span: Duration, look| {
        let runtime = RUNTIME.get_or_init(|| nio::RuntimeBuilder::new().rt().unwrap());
        let waiting = runtime.spawn_pinned(move || async move { nio::sleep(span).await });
        nio_future::block_on(waiting).unwrap();
        look();
    })
}

fn main() {
    run_program("memory", "Nio", "nio", &[("small_program", run)]);
}
