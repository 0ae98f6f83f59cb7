// bench/harness/posting.rs: bench/harness/posting.hpp, bench/jobs and bench/latency in Rust, for any system that takes
// tasks.
use crate::{Parameters, Sample, percentile, process_cpu_ns, steps_of, tally, timed, work_for};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub trait System: Sync {
    /// What `submit` gives.
    type Handle;

    fn new(workers: usize) -> Self;

    /// Runs it on a worker, some time.
    fn post<F: FnOnce() + Send + 'static>(&self, task: F);

    /// A task that makes so many tasks, as the system likes it best.
    fn spread<F: Fn() + Copy + Send + Sync + 'static>(&self, count: u64, task: F);

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle;
    fn get(&self, handle: Self::Handle) -> u64;
}

fn post_captures<S: System, const BYTES: usize>(system: &S, tasks: u64) {
    for _ in 0..tasks {
        let captured = [0u8; BYTES];
        system.post(move || {
            std::hint::black_box(&captured);
            tally::count();
        });
    }
}

pub fn empty<S: System>(given: &Parameters) -> Sample {
    let (producers, capture) = (given.number("producers", 1), given.number("capture", 0));
    let each = given.number("tasks", 1_000_000) / producers;
    let system = S::new(given.workers());
    let post = || match capture {
        0 => post_captures::<S, 0>(&system, each),
        24 => post_captures::<S, 24>(&system, each),
        48 => post_captures::<S, 48>(&system, each),
        _ => post_captures::<S, 128>(&system, each),
    };
    let before = tally::sum();
    timed((each * producers) as f64, each * producers, || {
        std::thread::scope(|scope| {
            for _ in 1..producers {
                scope.spawn(&post);
            }
            post();
        });
        tally::wait_for(before + each * producers) - before
    })
}

pub fn round_trip<S: System>(given: &Parameters) -> Sample {
    let trips = given.number("trips", 20_000);
    let system = S::new(given.workers());
    timed(trips as f64, trips, || (0..trips).fold(0, |reached, _| system.get(system.submit(move || reached + 1))))
}

fn steps_of_length(given: &Parameters) -> u64 {
    static STEPS: OnceLock<u64> = OnceLock::new();
    let length = given.number("length_ns", 0);
    *STEPS.get_or_init(|| steps_of(length))
}

fn of_length<S: System>(given: &Parameters, hand_over: impl FnOnce(&S, u64, u64)) -> Sample {
    let (tasks, steps) = (given.number("tasks", 100_000), steps_of_length(given));
    let system = S::new(given.workers());
    let before = tally::sum();
    timed(tasks as f64, tasks, || {
        hand_over(&system, tasks, steps);
        tally::wait_for(before + tasks) - before
    })
}

#[inline]
fn work_and_count(steps: u64) {
    work_for(steps);
    tally::count();
}

pub fn post<S: System>(given: &Parameters) -> Sample {
    of_length(given, |system: &S, tasks, steps| (0..tasks).for_each(|_| system.post(move || work_and_count(steps))))
}

pub fn spread<S: System>(given: &Parameters) -> Sample {
    of_length(given, |system: &S, tasks, steps| system.spread(tasks, move || work_and_count(steps)))
}

pub fn submit<S: System>(given: &Parameters) -> Sample {
    let tasks = given.number("tasks", 100_000);
    let system = S::new(given.workers());
    timed(tasks as f64, tasks * (tasks - 1) / 2, || {
        let results: Vec<_> = (0..tasks).map(|i| system.submit(move || i)).collect();
        results.into_iter().map(|each| system.get(each)).sum()
    })
}

/// Many tasks whose results one sum waits for.
pub fn fan<S: System>(given: &Parameters) -> Sample {
    let width = given.number("width", 100_000);
    let system = S::new(given.workers());
    timed(width as f64, width * (width + 1) / 2, || {
        let results: Vec<_> = (0..width).map(|i| system.submit(move || i + 1)).collect();
        results.into_iter().map(|each| system.get(each)).sum()
    })
}

/// Batches of empty jobs; `run_batch` runs one and waits for it.
pub fn batches(given: &Parameters, mut run_batch: impl FnMut(u64)) -> Sample {
    let (jobs, repeats) = (given.number("jobs", 2_047), given.number("repeats", 100));
    run_batch(jobs);
    let before = tally::sum();
    timed((jobs * repeats) as f64, jobs * repeats, || {
        (0..repeats).for_each(|_| run_batch(jobs));
        tally::sum() - before
    })
}

static START: AtomicU64 = AtomicU64::new(0);

fn now_ns() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

pub fn wake<S: System>(given: &Parameters) -> Sample {
    let posts = given.number("posts", 200);
    let system = S::new(given.workers());
    let mut waits_us = Vec::new();
    let mut sample = timed(posts as f64, posts, || {
        for i in 0..posts {
            sleep(Duration::from_micros(700 + i * 131 % 600));
            START.store(0, Ordering::Relaxed);
            let begin = now_ns();
            system.post(|| START.store(now_ns(), Ordering::Release));
            sleep(Duration::from_micros(100));
            while START.load(Ordering::Acquire) == 0 {
                sleep(Duration::from_micros(100));
            }
            waits_us.push((START.load(Ordering::Relaxed) - begin) as f64 / 1e3);
        }
        waits_us.len() as u64
    });
    let part = |values: &mut Vec<f64>, part| percentile(values, part);
    sample.extra = vec![("p50_us", part(&mut waits_us, 0.5)), ("p99_us", part(&mut waits_us, 0.99)),
                        ("longest_us", part(&mut waits_us, 1.0))];
    sample
}

/// What other threads than this one take of a core while `meanwhile` runs, in percent.
fn share_of_a_core<S: System>(system: &S, meanwhile: impl FnOnce()) -> Sample {
    system.get(system.submit(|| 0));
    sleep(Duration::from_millis(50));
    let (process, own) = (process_cpu_ns(), crate::thread_cpu_ns());
    let mut sample = timed(1.0, (), meanwhile);
    let others = (process_cpu_ns() - process - (crate::thread_cpu_ns() - own)).max(0.0);
    sample.extra = vec![("core_percent", others / sample.wall_ns * 100.0)];
    sample
}

pub fn idle<S: System>(given: &Parameters) -> Sample {
    let ms = given.number("ms", 1_000);
    share_of_a_core(&S::new(given.workers()), || sleep(Duration::from_millis(ms)))
}

pub fn each_ms<S: System>(given: &Parameters) -> Sample {
    let ms = given.number("ms", 1_000);
    let system = S::new(given.workers());
    let before = tally::sum();
    let mut sample = share_of_a_core(&system, || {
        let begin = Instant::now();
        for i in 1..=ms {
            sleep((begin + Duration::from_millis(i)).saturating_duration_since(Instant::now()));
            system.post(tally::count);
        }
        sleep(Duration::from_millis(1));
    });
    sample.is_right = tally::wait_for(before + ms) == before + ms;
    sample
}
