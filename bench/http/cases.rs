// bench/http/cases.rs: bench/http/cases.hpp in Rust, for servers whose HTTP is hyper's: their answers, the tasks that they
// run as well, and wrk that asks.
use std::convert::Infallible;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use harness::constant_load::{Compute, Load, Measured, TASKS_PER_WORKER, measured_ns};
use harness::{Parameters, Sample, tally, work_for};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};

/// At /tasks it says how many tasks have run, and what they have taken of a processor.
pub async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = match request.uri().path() {
        "/tasks" => Bytes::from(format!("{} {}", tally::sum(), measured_ns())),
        _ => Bytes::from_static(b"Hello, World!"),
    };
    Ok(Response::builder().header("Content-Type", "text/plain").body(Full::new(body)).unwrap())
}

#[derive(PartialEq)]
pub enum OwnTasks {
    None,
    Counted,
}

pub const OWN_TASK_US: u64 = 100;

/// What wrk makes of the server, which is this process.
pub fn asked_by_wrk(given: &Parameters, port: u16, has: OwnTasks) -> Sample {
    let mut command = Command::new("python3");
    command.args(["bench/http/drive.py", "--server", &std::process::id().to_string(), "--port", &port.to_string()]);
    for (name, otherwise) in [("seconds", 3), ("connections", 50), ("load_percent", 0)] {
        command.args([&format!("--{name}"), &given.number(name, otherwise).to_string()]);
    }
    if has == OwnTasks::Counted {
        command.arg("--tasks");
    }
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let read: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[requests, errors, wall_ns, cpu_ns, p50, p99, tasks, tasks_ns, tasks_cpu_ns] = read.as_slice() else {
        return Sample::default();
    };
    let mut extra = vec![
        ("server_cpu_us", (cpu_ns - tasks_cpu_ns) / requests / 1e3),
        ("request_us", wall_ns / requests / 1e3),
        ("p50_us", p50),
        ("p99_us", p99),
    ];
    if tasks > 0.0 {
        extra.push(("per_task_us", tasks_ns / tasks / 1e3));
        extra.push(("task_cpu_us", tasks_cpu_ns / tasks / 1e3));
        extra.push(("computed_percent", tasks * OWN_TASK_US as f64 * 1e5 / tasks_ns));
    }
    Sample { items: requests, wall_ns, cpu_ns, is_right: requests > 0.0 && errors == 0.0, extra }
}

const MOST_WAITING: u64 = 20; // a server that has fallen behind drops tasks

/// Tasks that take so much of one worker.
pub struct OwnLoad<C> {
    percent: u64,
    steps: u64,
    is_over: AtomicBool,
    load: Arc<Load<Measured<C>>>,
}

impl<C: Compute> OwnLoad<C> {
    pub fn begin(compute: C, percent: u64, steps: u64) -> Arc<Self> {
        let load = Load::begin(Measured(compute), if percent >= 100 { TASKS_PER_WORKER } else { 0 }, steps);
        Arc::new(OwnLoad { percent, steps, is_over: AtomicBool::new(false), load })
    }

    /// Whether the server is to run `post_due`.
    pub fn needs_posts(&self) -> bool {
        0 < self.percent && self.percent < 100
    }

    /// Each millisecond as many tasks as are due by then, until `no_more`.
    pub async fn post_due<S: Future<Output = ()>>(self: Arc<Self>, sleep_for: fn(Duration) -> S) {
        let (begin, waiting, mut seen) = (Instant::now(), Arc::new(AtomicU64::new(0)), 0);
        while !self.is_over.load(Ordering::Relaxed) {
            sleep_for(Duration::from_millis(1)).await;
            let due = begin.elapsed().as_micros() as u64 * self.percent / 100 / OWN_TASK_US;
            for _ in seen..due {
                if waiting.load(Ordering::Relaxed) < MOST_WAITING {
                    waiting.fetch_add(1, Ordering::Relaxed);
                    self.post_one(waiting.clone());
                }
            }
            seen = due;
        }
    }

    fn post_one(&self, waiting: Arc<AtomicU64>) {
        let steps = self.steps;
        self.load.compute.post(move || {
            work_for(steps);
            tally::count();
            waiting.fetch_sub(1, Ordering::Relaxed);
        });
    }

    pub fn no_more(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Sleeps until the last one has ended. Whether there were as many as there should be shows in the sample.
    pub fn end(&self, sample: &mut Sample) {
        self.load.end();
        sample.is_right &= self.percent == 0 || sample.extra.iter().any(|(name, _)| *name == "per_task_us");
    }
}
