//! bench/http/hyper.rs: hyper over Tokio, with a runtime of one thread.
use std::convert::Infallible;
use std::process::Command;

use harness::{Parameters, Sample, run_program};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

async fn answer(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = Full::new(Bytes::from_static(b"Hello, World!"));
    Ok(Response::builder().header("Content-Type", "text/plain").body(body).unwrap())
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

/// What wrk makes of the server, which is this process.
fn asked_by_wrk(given: &Parameters, port: u16) -> Sample {
    let mut command = Command::new("python3");
    command.args(["bench/http/drive.py", "--server", &std::process::id().to_string(), "--port", &port.to_string()]);
    for (name, otherwise) in [("seconds", 3), ("connections", 50), ("load_percent", 0)] {
        command.args([&format!("--{name}"), &given.number(name, otherwise).to_string()]);
    }
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let read: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[requests, errors, wall_ns, cpu_ns, p50, p99] = read.as_slice() else { return Sample::default() };
    let extra = vec![
        ("server_cpu_us", cpu_ns / requests / 1e3),
        ("request_us", wall_ns / requests / 1e3),
        ("p50_us", p50),
        ("p99_us", p99),
    ];
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
        let sample = asked_by_wrk(given, port);
        let _ = end.send(());
        sample
    })
}

fn main() {
    run_program("http", "hyper", "hyper", &[("hello", hello)]);
}
