// bench/harness/harness.rs: a measuring program in Rust that speaks the protocol of bench/README.md.
use std::sync::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub mod constant_load;
pub mod loops;
pub mod posting;
pub mod problems;

/// What one run measured.
#[derive(Default)]
pub struct Sample {
    pub items: f64,
    pub wall_ns: f64,
    pub cpu_ns: f64,
    pub is_right: bool,
    pub extra: Vec<(&'static str, f64)>,
}

/// What the command line says about the case, and a note of what was asked for.
pub struct Parameters {
    given: BTreeMap<String, String>,
    used: Mutex<BTreeMap<String, String>>,
}

impl Parameters {
    pub fn number(&self, name: &str, otherwise: u64) -> u64 {
        let value = self.given.get(name).map_or(otherwise, |text| to_number(name, text));
        self.used.lock().unwrap().insert(name.into(), value.to_string());
        value
    }

    pub fn word(&self, name: &str, otherwise: &str) -> String {
        let value = self.given.get(name).cloned().unwrap_or_else(|| otherwise.into());
        self.used.lock().unwrap().insert(name.into(), format!("{value:?}"));
        value
    }

    pub fn workers(&self) -> usize {
        self.number("workers", 1) as usize
    }
}

/// A case, and how this contender solves it.
pub type Solution = (&'static str, fn(&Parameters) -> Sample);

/// How long `run` takes; right when it gives `expected`.
pub fn timed<T: PartialEq>(items: f64, expected: T, run: impl FnOnce() -> T) -> Sample {
    let cpu = process_cpu_ns();
    let begin = Instant::now();
    let result = run();
    let wall_ns = begin.elapsed().as_nanos() as f64;
    Sample { items, wall_ns, cpu_ns: process_cpu_ns() - cpu, is_right: result == expected, extra: Vec::new() }
}

/// Work of a given length that a compiler cannot shorten: each step needs the one before.
#[inline]
pub fn work_for(steps: u64) {
    let mut value = steps;
    for _ in 0..steps {
        value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

/// How many steps take so long on this machine.
pub fn steps_of(ns: u64) -> u64 {
    if ns == 0 {
        return 0;
    }
    const STEPS: u64 = 100_000;
    let best = (0..20)
        .map(|_| {
            let begin = Instant::now();
            work_for(STEPS);
            begin.elapsed()
        })
        .min()
        .unwrap_or(Duration::from_nanos(1));
    (ns as f64 / (best.as_nanos() as f64 / STEPS as f64)) as u64
}

/// Counts what many threads have run, without any line that they share. One for the whole program.
pub mod tally {
    use super::*;

    #[repr(align(128))]
    struct Cell(AtomicU64);

    const CELLS: usize = 64;
    static COUNTS: [Cell; CELLS] = [const { Cell(AtomicU64::new(0)) }; CELLS];
    static TAKEN: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static MINE: usize = TAKEN.fetch_add(1, Ordering::Relaxed) as usize % CELLS;
    }

    #[inline]
    pub fn count() {
        let mine = &COUNTS[MINE.with(|mine| *mine)].0;
        mine.store(mine.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    pub fn sum() -> u64 {
        COUNTS.iter().map(|cell| cell.0.load(Ordering::Acquire)).sum()
    }

    /// Sleeps a little between two looks, so that nothing is taken from the workers.
    pub fn wait_for(expected: u64) -> u64 {
        while sum() < expected {
            std::thread::sleep(Duration::from_micros(50));
        }
        sum()
    }
}

/// The smallest value that no less than this part of the values does not exceed.
pub fn percentile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let index = (part * values.len() as f64).ceil() as usize;
    values[index.clamp(1, values.len()) - 1]
}

/// CPU time of all threads of the process.
pub fn process_cpu_ns() -> f64 {
    cpu_ns(2)
}

/// CPU time of this thread.
pub fn thread_cpu_ns() -> f64 {
    cpu_ns(3)
}

fn cpu_ns(clock: i32) -> f64 {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    }
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(clock, &mut time) };
    time.seconds as f64 * 1e9 + time.nanoseconds as f64
}

/// What the system says of this process under that name.
fn status_kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0");
    line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// `run(span, look)` makes a runtime, lets a task of it wait for so long, and calls `look` before the runtime ends.
pub fn small_program(given: &Parameters, run: impl Fn(Duration, &mut dyn FnMut())) -> Sample {
    let span = Duration::from_millis(given.number("ms", 1));
    let mut resident_mb = 0.0;
    let begin = Instant::now();
    let mut sample = timed(1.0, true, || {
        run(span, &mut || resident_mb = status_kib("VmRSS:") as f64 * 1024.0 / 1e6);
        resident_mb > 0.0 && begin.elapsed() >= span
    });
    sample.extra = vec![("resident_mb", resident_mb)];
    sample
}

fn refuse(why: &str) -> ! {
    eprintln!("{why}; bench/README.md tells the protocol");
    exit(2)
}

fn to_number(name: &str, text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| refuse(&format!("--{name} needs a number")))
}

/// The version of a crate, from the lock file with which this was built.
pub fn version_of(name: &str) -> String {
    let lock = include_str!("../Cargo.lock");
    let entry = lock.split("[[package]]").find(|entry| entry.contains(&format!("name = \"{name}\"\n")));
    let version = entry.and_then(|entry| entry.split("version = \"").nth(1)).and_then(|rest| rest.split('"').next());
    version.unwrap_or("unknown").into()
}

/// The path of a program in C++ that the build has put into `bin`, in a folder around the one of this program.
pub fn beside_program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let found = own.ancestors().map(|folder| folder.join("bin").join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| refuse(&format!("{name} was not built")))
}

/// A name, the crate whose version is told, and what it solves.
pub type Contender<'a> = (&'a str, &'a str, &'a [Solution]);

/// The main function of a program. `crate_name` is where the version is looked up.
pub fn run_program(subject: &str, contender: &str, crate_name: &str, solutions: &[Solution]) {
    run_programs(subject, &[(contender, crate_name, solutions)]);
}

/// The same for several contenders; where none is named on the command line, the first that solves the case.
pub fn run_programs(subject: &str, contenders: &[Contender]) {
    let mut given = BTreeMap::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--list" {
            for (contender, _, solutions) in contenders {
                for (case, _) in *solutions {
                    println!("{{\"subject\":{subject:?},\"case\":{case:?},\"contender\":{contender:?},\"kind\":\"rival\"}}");
                }
            }
            return;
        }
        let Some(name) = word.strip_prefix("--") else { refuse(&format!("what is {word}")) };
        let Some(value) = words.next() else { refuse(&format!("--{name} needs a value")) };
        given.insert(name.to_string(), value);
    }
    let case = given.remove("case").unwrap_or_default();
    let wanted = given.remove("contender");
    let warmups = given.remove("warmups").map_or(1, |text| to_number("warmups", &text));
    let rounds = given.remove("rounds-in-process").map_or(1, |text| to_number("rounds-in-process", &text));
    let asked = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let found = contenders.iter().filter(|(name, ..)| asked(name)).find_map(|(name, crate_name, solutions)| {
        let (_, run) = solutions.iter().find(|(solved, _)| *solved == case)?;
        Some((name, crate_name, run))
    });
    let Some((contender, crate_name, run)) = found else { refuse("nobody solves that") };
    let parameters = Parameters { given, used: Mutex::default() };
    let mut is_right = (0..warmups).all(|_| run(&parameters).is_right);
    for round in 0..rounds {
        let sample = run(&parameters);
        is_right &= sample.is_right;
        let used: Vec<_> = parameters.used.lock().unwrap().iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
        let extra: Vec<_> = sample.extra.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
        println!(
            "{{\"subject\":{subject:?},\"case\":{case:?},\"params\":{{{}}},\"contender\":{contender:?},\"kind\":\"rival\",\
             \"version\":{:?},\"compiler\":{:?},\"round\":{round},\"items\":{},\"wall_ns\":{},\"cpu_ns\":{},\
             \"peak_kib\":{},\"extra\":{{{}}},\"check\":{}}}",
            used.join(","), version_of(crate_name), compiler(), sample.items, sample.wall_ns, sample.cpu_ns, status_kib("VmHWM:"),
            extra.join(","), sample.is_right
        );
    }
    if let Some(name) = parameters.given.keys().find(|name| !parameters.used.lock().unwrap().contains_key(*name)) {
        refuse(&format!("{case} has no parameter {name}"));
    }
    exit(if is_right { 0 } else { 1 })
}

/// The toolchain, as the driver says it: a program in Rust does not know.
fn compiler() -> String {
    std::env::var("BENCH_RUSTC").unwrap_or_else(|_| "rustc".into())
}
