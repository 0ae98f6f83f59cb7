//! bench/loop/monoio.rs: monoio by io_uring: timers only, since it takes no tasks from other threads.
use std::time::{Duration, Instant};

use harness::{Parameters, Sample, loops, run_program};
use monoio::time::sleep_until;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn run<F: Future>(work: F) -> F::Output {
    monoio::RuntimeBuilder::<monoio::IoUringDriver>::new().enable_timer().build().unwrap().block_on(work)
}

fn timers(given: &Parameters) -> Sample {
    loops::timed_timers(given, |count| {
        run(async {
            let sleep = || async {
                let due = Instant::now() + Duration::from_millis(1);
                monoio::time::sleep(Duration::from_millis(1)).await;
                Instant::now() < due
            };
            let all: Vec<_> = (0..count).map(|_| monoio::spawn(sleep())).collect();
            let (mut fired, mut early) = (0, 0);
            for each in all {
                early += u64::from(each.await);
                fired += 1;
            }
            (fired, early)
        })
    })
}

fn arm(given: &Parameters) -> Sample {
    let pending = given.number("pending", 1_000_000) as usize;
    run(async { loops::timed_sleeps(pending, |until| sleep_until(until.into())) })
}

fn main() {
    run_program("loop", "monoio", "monoio", &[("timers", timers), ("arm", arm)]);
}
