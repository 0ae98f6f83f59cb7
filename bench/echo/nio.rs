//! bench/echo/nio.rs: Nio with a runtime of one thread: a task for each connection.
use std::sync::atomic::{AtomicBool, Ordering};

use harness::{Parameters, Sample, run_program};
use nio::net::TcpListener;

mod client;
#[path = "nio_server.rs"]
mod server;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A task that is left when the runtime ends would look for it in vain, so all are awaited.
async fn serve(mut listener: TcpListener, is_over: &AtomicBool) {
    let mut clients = Vec::new();
    while let Ok(accepted) = listener.accept().await {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        clients.push(nio::spawn_local(server::echo(accepted)));
    }
    for each in clients {
        let _ = each.await;
    }
}

/// The server ends at a last connection: a flag by itself would not wake its thread.
fn ping_pong(given: &Parameters) -> Sample {
    let is_over = AtomicBool::new(false);
    let run = |ready: std::sync::mpsc::Sender<u16>| {
        let mut runtime = nio::RuntimeBuilder::new().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            ready.send(listener.local_addr().unwrap().port()).unwrap();
            serve(listener, &is_over).await;
        });
    };
    let stop = |port| {
        is_over.store(true, Ordering::Relaxed);
        drop(std::net::TcpStream::connect(("127.0.0.1", port)));
    };
    client::timed_echo(given, run, stop)
}

fn main() {
    run_program("echo", "Nio", "nio", &[("ping_pong", ping_pong)]);
}
