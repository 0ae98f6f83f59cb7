//! bench/http/hyper.rs: hyper over Tokio, with a runtime of one thread; where the server computes as well, on its one
//! worker, or on one of rayon beside.
use std::convert::Infallible;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use harness::{Parameters, Sample, run_programs, steps_of, tally, work_for};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

#[path = "../harness/tokio_compute.rs"]
mod compute;

use compute::{BesideRayon, Compute, Load, SameWorkers, TASKS_PER_WORKER};

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = match request.uri().path() {
        "/tasks" => Bytes::from(tally::sum().to_string()),
        _ => Bytes::from_static(b"Hello, World!"),
    };
    Ok(Response::builder().header("Content-Type", "text/plain").body(Full::new(body)).unwrap())
}

async fn serve(listener: TcpListener) {
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        let served = http1::Builder::new().pipeline_flush(true).serve_connection(TokioIo::new(socket), service_fn(answer));
        tokio::spawn(async move {
            let _ = served.await;
        });
    }
}

#[derive(PartialEq)]
enum OwnTasks {
    None,
    Counted,
}

const OWN_TASK_US: u64 = 100;

/// What wrk makes of the server, which is this process.
fn asked_by_wrk(given: &Parameters, port: u16, has: OwnTasks) -> Sample {
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
    let &[requests, errors, wall_ns, cpu_ns, p50, p99, tasks, tasks_ns] = read.as_slice() else { return Sample::default() };
    let mut extra = vec![
        ("server_cpu_us", cpu_ns / requests / 1e3),
        ("request_us", wall_ns / requests / 1e3),
        ("p50_us", p50),
        ("p99_us", p99),
    ];
    if tasks > 0.0 {
        extra.push(("per_task_us", tasks_ns / tasks / 1e3));
        extra.push(("computed_percent", tasks * OWN_TASK_US as f64 * 1e5 / tasks_ns));
    }
    Sample { items: requests, wall_ns, cpu_ns, is_right: requests > 0.0 && errors == 0.0, extra }
}

fn hello(given: &Parameters) -> Sample {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::scope(|scope| {
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        scope.spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener) => {}
                    _ = ended => {}
                }
            })
        });
        let sample = asked_by_wrk(given, port, OwnTasks::None);
        let _ = end.send(());
        sample
    })
}

const MOST_WAITING: u64 = 20; // a server that has fallen behind drops tasks

/// Each millisecond as many tasks as are due by then.
async fn post_due<C: Compute>(load: Arc<Load<C>>, percent: u64, steps: u64, is_over: Arc<AtomicBool>) {
    let (begin, waiting, mut seen) = (Instant::now(), Arc::new(AtomicU64::new(0)), 0);
    while !is_over.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let due = begin.elapsed().as_micros() as u64 * percent / 100 / OWN_TASK_US;
        for _ in seen..due {
            if waiting.load(Ordering::Relaxed) < MOST_WAITING {
                waiting.fetch_add(1, Ordering::Relaxed);
                let waiting = waiting.clone();
                load.compute.post(move || {
                    work_for(steps);
                    tally::count();
                    waiting.fetch_sub(1, Ordering::Relaxed);
                });
            }
        }
        seen = due;
    }
}

fn hello_with_tasks<C: Compute>(given: &Parameters) -> Sample {
    let percent = given.number("tasks_percent", 100);
    let steps = steps_of(OWN_TASK_US * 1_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(serve(listener));
    let load = Load::begin(C::new(1, runtime.handle()), if percent >= 100 { TASKS_PER_WORKER } else { 0 }, steps);
    let is_over = Arc::new(AtomicBool::new(false));
    let posting = (0 < percent && percent < 100)
        .then(|| runtime.spawn(post_due(load.clone(), percent, steps, is_over.clone())));
    let mut sample = asked_by_wrk(given, port, OwnTasks::Counted);
    is_over.store(true, Ordering::Relaxed);
    if let Some(posting) = posting {
        runtime.block_on(posting).unwrap();
    }
    load.end();
    sample.is_right &= percent == 0 || sample.extra.iter().any(|(name, _)| *name == "per_task_us");
    sample
}

fn main() {
    run_programs(
        "http",
        &[
            ("hyper", "hyper", &[("hello", hello), ("hello_with_tasks", hello_with_tasks::<SameWorkers>)]),
            ("hyper beside rayon", "hyper", &[("hello_with_tasks", hello_with_tasks::<BesideRayon>)]),
        ],
    );
}
