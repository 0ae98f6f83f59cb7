// bench/ramp/leaves.rs: bench/ramp/leaves.hpp in Rust. Sleeps here end up to 50 µs late, as the system has it by default.
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use harness::{Parameters, Sample, thread_cpu_ns, timed};

/// The leaves of one run.
pub struct Leaves {
    pub workers: usize,
    pub count: usize,
    computes: bool,
    lengths_ns: Vec<f64>,
    done: AtomicU64,
}

impl Leaves {
    pub fn new(given: &Parameters) -> Self {
        let workers = given.workers();
        let count = given.number("per_worker", 1) as usize * workers;
        let computes = given.word("work", "sleep") == "compute";
        let length_ns = given.number("length_us", 20_000) as f64 * 1e3;
        let mixed = given.word("lengths", "equal") == "mixed";
        let lengths_ns = (0..count).map(|i| length_ns * if mixed { pareto(i as u64) } else { 1.0 }).collect();
        Leaves { workers, count, computes, lengths_ns, done: AtomicU64::new(0) }
    }

    pub fn run(&self, index: usize) {
        if self.computes {
            let end = thread_cpu_ns() + self.lengths_ns[index];
            while thread_cpu_ns() < end {}
        } else {
            std::thread::sleep(Duration::from_nanos(self.lengths_ns[index] as u64));
        }
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// How long `run`, which runs each leaf once, takes beside what it would take with all workers at work throughout.
    pub fn timed(&self, run: impl FnOnce()) -> Sample {
        let mut sample = timed(self.count as f64, self.count as u64, || {
            run();
            self.done.load(Ordering::Relaxed)
        });
        sample.extra = vec![("over_ideal_factor", sample.wall_ns / self.ideal_ns())];
        sample
    }

    fn ideal_ns(&self) -> f64 {
        let total: f64 = self.lengths_ns.iter().sum();
        let longest = self.lengths_ns.iter().copied().fold(0.0, f64::max);
        let rounds = self.count.div_ceil(self.workers) as f64;
        let equal = if self.lengths_ns[0] == longest { rounds * longest } else { 0.0 };
        longest.max(total / self.workers as f64).max(equal)
    }
}

/// Most are short, a few are long: from 0.4 to 12 times, about 1 on average; by the number of the leaf.
fn pareto(index: u64) -> f64 {
    let mut z = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let even = ((z ^ (z >> 31)) >> 11) as f64 / 9_007_199_254_740_992.0;
    (0.4 / (1.0 - even * 0.97)).min(12.0)
}
