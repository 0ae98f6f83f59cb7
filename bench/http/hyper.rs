//! bench/http/hyper.rs: hyper over Tokio, with a runtime of one thread; where the server computes as well, on its one
//! worker, or on one of rayon beside.
use harness::{Parameters, Sample, run_programs, steps_of};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

mod cases;
#[path = "../harness/tokio_compute.rs"]
mod compute;

use cases::{OWN_TASK_US, OwnLoad, OwnTasks, answer, asked_by_wrk};
use compute::{BesideRayon, BesideTokio, SameWorkers};

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

async fn serve(listener: TcpListener) {
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        let served = http1::Builder::new().pipeline_flush(true).serve_connection(TokioIo::new(socket), service_fn(answer));
        tokio::spawn(async move {
            let _ = served.await;
        });
    }
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

fn hello_with_tasks<C: BesideTokio>(given: &Parameters) -> Sample {
    let percent = given.number("tasks_percent", 100);
    let steps = steps_of(OWN_TASK_US * 1_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(serve(listener));
    let load = OwnLoad::begin(C::new(1, runtime.handle()), percent, steps);
    let posting = load.needs_posts().then(|| runtime.spawn(load.clone().post_due(tokio::time::sleep)));
    let mut sample = asked_by_wrk(given, port, OwnTasks::Counted);
    load.no_more();
    if let Some(posting) = posting {
        runtime.block_on(posting).unwrap();
    }
    load.end(&mut sample);
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
