// bench/echo/nio_server.rs: what an echo server of Nio does for each connection, on the worker that it came to.
use nio::net::TcpConnection;
use tokio::io::AsyncWriteExt;

pub async fn echo(accepted: TcpConnection) {
    let _ = accepted.set_nodelay(true);
    let Ok(mut socket) = accepted.connect().await else { return };
    let mut room = [0; 4096];
    while let Ok(got @ 1..) = socket.read(&mut room).await {
        if socket.write_all(&room[..got]).await.is_err() {
            return;
        }
    }
}
