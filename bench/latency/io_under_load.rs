// bench/latency/io_under_load.rs: bench/latency/io_under_load.hpp in Rust, for systems that wait and compute.
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use harness::constant_load::{Compute, Load, TASKS_PER_WORKER};
use harness::{Parameters, Sample, beside_program, percentile, steps_of, tally, timed};

pub trait IoSystem {
    type Compute: Compute;

    fn new(workers: usize) -> Self;

    /// Serves echo by TCP on the loopback from now on, and gives the port.
    fn listen(&self) -> u16;

    /// A task of its own that runs `keep_time`; what is given waits for its end.
    fn start_timers(&self, phase: Arc<AtomicU8>) -> impl FnOnce() -> Vec<f64>;

    fn begin_load(&self, tasks: u64, steps: u64) -> Arc<Load<Self::Compute>>;
}

const SPAN: Duration = Duration::from_millis(1);

const NOT_YET: u8 = 0;
const COUNTED: u8 = 1;
const OVER: u8 = 2;

/// How late timers of a millisecond fire, one after the other, as long as they count.
pub async fn keep_time<S: Future<Output = ()>>(phase: Arc<AtomicU8>, sleep_for: fn(Duration) -> S) -> Vec<f64> {
    let mut late_us = Vec::with_capacity(100_000);
    loop {
        let armed = Instant::now();
        sleep_for(SPAN).await;
        let now = phase.load(Ordering::Relaxed);
        if now != NOT_YET {
            late_us.push(armed.elapsed().as_nanos() as f64 / 1e3 - 1e3);
        }
        if now == OVER {
            return late_us;
        }
    }
}

/// What the peer has seen, if it has seen everything as it should be.
fn asked_by_peer(given: &Parameters, port: u16) -> Option<Vec<f64>> {
    let mut command = Command::new(beside_program("bench_io_peer"));
    command.arg(port.to_string());
    for (name, otherwise) in [("connections", 8), ("ms", 1_000), ("gap_us", 250)] {
        command.arg(given.number(name, otherwise).to_string());
    }
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let read: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    (read.len() == 8 && read[0] == read[1] && read[2] == 0.0).then_some(read)
}

/// A peer beside the system talks to it, while tasks of so many microseconds, if any, fill the workers.
pub fn io_under_load<S: IoSystem>(given: &Parameters) -> Sample {
    let (task_us, workers) = (given.number("task_us", 100), given.workers());
    let steps = steps_of(task_us * 1_000);
    let system = S::new(workers);
    let port = system.listen();
    let phase = Arc::new(AtomicU8::new(NOT_YET));
    let timers = system.start_timers(phase.clone());
    let load = system.begin_load(if task_us == 0 { 0 } else { workers as u64 * TASKS_PER_WORKER }, steps);
    sleep(Duration::from_millis(20));

    phase.store(COUNTED, Ordering::Relaxed);
    let mut seen = None;
    let before = tally::sum();
    let mut sample = timed(1.0, true, || {
        seen = asked_by_peer(given, port);
        seen.is_some()
    });
    let ran = (tally::sum() - before) as f64;
    phase.store(OVER, Ordering::Relaxed);
    let mut late_us = timers();
    load.end();
    let Some(seen) = seen else { return sample };

    sample.is_right &= percentile(&mut late_us, 0.0) >= 0.0 && (task_us == 0 || ran > 0.0);
    sample.extra = vec![
        ("io_p50_us", seen[3]),
        ("io_p99_us", seen[4]),
        ("io_p999_us", seen[5]),
        ("io_longest_us", seen[6]),
        ("timer_p50_us", percentile(&mut late_us, 0.5)),
        ("timer_p99_us", percentile(&mut late_us, 0.99)),
        ("timer_longest_us", percentile(&mut late_us, 1.0)),
        ("peer_goes_first", seen[7]),
    ];
    if ran > 0.0 {
        sample.items = ran;
        let workers_us = sample.wall_ns / 1e3 * workers as f64;
        sample.extra.push(("per_task_us", workers_us / ran));
        sample.extra.push(("computed_percent", ran * task_us as f64 / workers_us * 100.0));
    }
    sample
}
