// bench/harness/loops.rs: bench/loop/cases.hpp in Rust.
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{Parameters, Sample, percentile, timed};

/// `run(count)` gives how many timers have fired, and how many of them early.
pub fn timed_timers(given: &Parameters, mut run: impl FnMut(u64) -> (u64, u64)) -> Sample {
    let count = given.number("timers", 10_000);
    let mut early = 0;
    let mut sample = timed(count as f64, count, || {
        let fired;
        (fired, early) = run(count);
        fired
    });
    sample.extra = vec![("early_timers", early as f64)];
    sample
}

/// How long after the start the i-th timer of `arm` is due: from a second to a minute, all over it.
pub fn arm_due(i: usize) -> Duration {
    Duration::from_micros(1_000_000 + i as u64 * 7_919_011 % 59_000_000)
}

pub const ARMED_AT_ONCE: usize = 1_000;

/// Timers of a loop that does not turn meanwhile.
pub trait Wheel {
    fn arm(&mut self, i: usize, due: Duration);
    fn disarm(&mut self, i: usize);
    fn armed(&self) -> usize;
}

/// Timers that are futures, armed when they are polled, and disarmed when they are dropped.
pub struct Sleeps<S, F> {
    start: Instant,
    until: F,
    rooms: Vec<Pin<Box<Option<S>>>>,
}

impl<S: Future<Output = ()>, F: Fn(Instant) -> S> Sleeps<S, F> {
    pub fn new(count: usize, until: F) -> Self {
        Sleeps { start: Instant::now(), until, rooms: (0..count).map(|_| Box::pin(None)).collect() }
    }

    pub fn arm_all(mut self) -> Self {
        (0..self.rooms.len()).for_each(|i| self.arm(i, arm_due(i)));
        self
    }
}

impl<S: Future<Output = ()>, F: Fn(Instant) -> S> Wheel for Sleeps<S, F> {
    fn arm(&mut self, i: usize, due: Duration) {
        self.rooms[i].set(Some((self.until)(self.start + due)));
        let asleep = self.rooms[i].as_mut().as_pin_mut().unwrap().poll(&mut Context::from_waker(Waker::noop()));
        assert!(asleep.is_pending());
    }
    fn disarm(&mut self, i: usize) {
        self.rooms[i].set(None);
    }
    fn armed(&self) -> usize {
        self.rooms.iter().filter(|each| each.is_some()).count()
    }
}

/// The same beside so many others; on a thread whose loop the timers belong to.
pub fn timed_sleeps<S: Future<Output = ()>>(pending: usize, until: impl Fn(Instant) -> S) -> Sample {
    let _others = Sleeps::new(pending, &until).arm_all();
    timed_arms(&mut Sleeps::new(ARMED_AT_ONCE, &until))
}

pub fn timed_arms(wheel: &mut impl Wheel) -> Sample {
    const ROUNDS: usize = 100;
    const ALL: usize = ROUNDS * ARMED_AT_ONCE;
    let (mut arming, mut disarming) = (Duration::ZERO, Duration::ZERO);
    let mut sample = timed(ALL as f64, 2 * ALL, || {
        let mut right = 0;
        for round in 0..ROUNDS {
            let begin = Instant::now();
            (0..ARMED_AT_ONCE).for_each(|i| wheel.arm(i, arm_due(round * ARMED_AT_ONCE + i)));
            arming += begin.elapsed();
            right += wheel.armed();
            let begin = Instant::now();
            (0..ARMED_AT_ONCE).for_each(|i| wheel.disarm(i * 7 % ARMED_AT_ONCE));
            disarming += begin.elapsed();
            right += ARMED_AT_ONCE - wheel.armed();
        }
        right
    });
    let each_ns = |all: Duration| all.as_nanos() as f64 / ALL as f64;
    sample.extra = vec![("arm_ns", each_ns(arming)), ("disarm_ns", each_ns(disarming))];
    sample
}

pub const BUSY_JOB_NS: u64 = 1_000;

pub fn is_busy(given: &Parameters) -> bool {
    given.word("state", "asleep") == "busy"
}

/// When something happened on another thread.
#[derive(Default)]
pub struct Moment(AtomicU64);

fn now_ns() -> u64 {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

impl Moment {
    pub fn has_come(&self) {
        self.0.store(now_ns(), Ordering::Release);
    }

    fn await_ns(&self, look_again: impl Fn()) -> u64 {
        loop {
            match self.0.load(Ordering::Acquire) {
                0 => look_again(),
                at => return at,
            }
        }
    }
}

/// From a post by this thread to the start of the job in a loop on another. `post` gets what the job says it to.
pub fn timed_hops(given: &Parameters, post: impl Fn(&'static Moment)) -> Sample {
    let posts = given.number("posts", 1_000);
    let is_asleep = given.word("state", "asleep") == "asleep";
    let starts: &'static [Moment] = Vec::leak((0..posts).map(|_| Moment::default()).collect());
    let mut took_us = Vec::new();
    let mut sample = timed(posts as f64, posts, || {
        for (ran, start) in starts.iter().enumerate() {
            let begin = now_ns();
            post(start);
            let look_again = || if is_asleep { sleep(Duration::from_micros(100)) };
            let at = start.await_ns(look_again);
            took_us.push((at - begin) as f64 / 1e3);
            if is_asleep {
                sleep(Duration::from_micros(300 + ran as u64 * 131 % 400));
            } else {
                while now_ns() < at + 5_000 {}
            }
        }
        took_us.len() as u64
    });
    sample.extra = vec![("p50_us", percentile(&mut took_us, 0.5)), ("p99_us", percentile(&mut took_us, 0.99))];
    sample
}
