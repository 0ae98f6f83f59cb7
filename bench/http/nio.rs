//! bench/http/nio.rs: hyper over Nio, with a runtime of one thread, which computes as well where that is asked for.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::constant_load::Compute;
use harness::{Parameters, Sample, run_program, steps_of};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use nio::RuntimeContext;
use nio::net::{TcpConnection, TcpListener};

mod cases;

use cases::{OWN_TASK_US, OwnLoad, OwnTasks, answer, asked_by_wrk};

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

async fn say_hello(accepted: TcpConnection) {
    let _ = accepted.set_nodelay(true);
    let Ok(socket) = accepted.connect().await else { return };
    let _ = http1::Builder::new().pipeline_flush(true).serve_connection(TokioIo::new(socket), service_fn(answer)).await;
}

/// A task that is left when the runtime ends would look for it in vain, so all are awaited.
async fn serve(mut listener: TcpListener, is_over: &AtomicBool) {
    let mut clients = Vec::new();
    while let Ok(accepted) = listener.accept().await {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        clients.push(nio::spawn_local(say_hello(accepted)));
    }
    for each in clients {
        let _ = each.await;
    }
}

/// Measures on a thread that may spawn into the runtime, while the server runs on another.
fn beside_server(measure: impl FnOnce(u16) -> Sample + Send) -> Sample {
    let is_over = AtomicBool::new(false);
    let (ready, listening) = std::sync::mpsc::channel::<(u16, Arc<RuntimeContext>)>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut runtime = nio::RuntimeBuilder::new().worker_threads(1).build().unwrap();
            let context = runtime.runtime_context();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                ready.send((listener.local_addr().unwrap().port(), context)).unwrap();
                serve(listener, &is_over).await;
            });
        });
        let (port, context) = listening.recv().unwrap();
        let measuring = scope.spawn(move || {
            context.enter();
            measure(port)
        });
        let sample = measuring.join().unwrap();
        is_over.store(true, Ordering::Relaxed);
        drop(std::net::TcpStream::connect(("127.0.0.1", port))); // a flag by itself would not wake the server
        sample
    })
}

fn hello(given: &Parameters) -> Sample {
    beside_server(|port| asked_by_wrk(given, port, OwnTasks::None))
}

struct Workers;

impl Compute for Workers {
    fn post<F: FnOnce() + Send + 'static>(&self, task: F) {
        drop(nio::spawn(async move { task() }));
    }
}

fn hello_with_tasks(given: &Parameters) -> Sample {
    let percent = given.number("tasks_percent", 100);
    let steps = steps_of(OWN_TASK_US * 1_000);
    beside_server(|port| {
        let load = OwnLoad::begin(Workers, percent, steps);
        let due = load.clone();
        let posting = load.needs_posts().then(|| nio::spawn_pinned(|| due.post_due(nio::sleep)));
        let mut sample = asked_by_wrk(given, port, OwnTasks::Counted);
        load.no_more();
        if let Some(posting) = posting {
            nio_future::block_on(posting).unwrap();
        }
        load.end(&mut sample);
        sample
    })
}

fn main() {
    run_program("http", "Nio", "nio", &[("hello", hello), ("hello_with_tasks", hello_with_tasks)]);
}
