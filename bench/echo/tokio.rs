//! bench/echo/tokio.rs: Tokio with a runtime of one thread.
use harness::{Parameters, Sample, run_program};
use tokio::net::TcpListener;

mod client;
#[path = "tokio_server.rs"]
mod server;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn ping_pong(given: &Parameters) -> Sample {
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let serve = move |ready: std::sync::mpsc::Sender<u16>| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            ready.send(listener.local_addr().unwrap().port()).unwrap();
            tokio::select! {
                () = server::serve(listener) => {}
                _ = ended => {}
            }
        });
    };
    client::timed_echo(given, serve, |_| end.send(()).unwrap())
}

fn main() {
    run_program("echo", "Tokio", "tokio", &[("ping_pong", ping_pong)]);
}
