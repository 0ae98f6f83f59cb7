//! bench/echo/monoio.rs: monoio by io_uring: a task for each connection, which owns its buffer and lends it to the kernel.
use std::sync::atomic::{AtomicBool, Ordering};

use harness::{Parameters, Sample, run_program};
use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::net::{TcpListener, TcpStream};

mod client;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

async fn echo(mut socket: TcpStream) {
    let _ = socket.set_nodelay(true);
    let mut room = Vec::with_capacity(4096);
    loop {
        let (got, filled) = socket.read(room).await;
        if !matches!(got, Ok(1..)) {
            return;
        }
        let (said, emptied) = socket.write_all(filled).await;
        if said.is_err() {
            return;
        }
        room = emptied;
        room.clear();
    }
}

async fn serve(listener: TcpListener, is_over: &AtomicBool) {
    while let Ok((socket, _)) = listener.accept().await {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        monoio::spawn(echo(socket));
    }
}

/// The server ends at a last connection: a flag by itself would not wake its thread.
fn ping_pong(given: &Parameters) -> Sample {
    let is_over = AtomicBool::new(false);
    let run = |ready: std::sync::mpsc::Sender<u16>| {
        let mut runtime = monoio::RuntimeBuilder::<monoio::IoUringDriver>::new().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
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
    run_program("echo", "monoio", "monoio", &[("ping_pong", ping_pong)]);
}
