// bench/echo/tokio_server.rs: an echo server of Tokio: a task for each connection.
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

// [server]
pub async fn serve(listener: TcpListener) {
    while let Ok((mut socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        tokio::spawn(async move {
            let mut room = [0; 4096];
            while let Ok(got @ 1..) = socket.read(&mut room).await {
                if socket.write_all(&room[..got]).await.is_err() {
                    break;
                }
            }
        });
    }
}
// [/server]
