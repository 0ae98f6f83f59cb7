// bench/echo/client.rs: the client of cases.hpp in Rust: plain epoll on a thread, while a server runs on another.
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use harness::{Parameters, Sample, thread_cpu_ns, timed};

const MESSAGE: usize = 64;

#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Event {
    what: u32,
    which: u64,
}

unsafe extern "C" {
    fn epoll_create1(flags: i32) -> i32;
    fn epoll_ctl(poll: i32, what: i32, descriptor: i32, event: *mut Event) -> i32;
    fn epoll_wait(poll: i32, events: *mut Event, most: i32, timeout: i32) -> i32;
}

/// Sends and receives on all connections until so many answers have come; gives how many did, of which each was right.
fn talk(port: u16, connections: u64, round_trips: u64) -> u64 {
    let poll = unsafe { epoll_create1(0) };
    let mut sockets = Vec::new();
    for which in 0..connections {
        let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.set_nodelay(true).unwrap();
        let mut event = Event { what: 1, which };
        assert_eq!(unsafe { epoll_ctl(poll, 1, socket.as_raw_fd(), &mut event) }, 0);
        sockets.push(socket);
    }
    let (mut sent, mut answered) = (0, 0);
    for (which, socket) in sockets.iter_mut().enumerate().take(round_trips as usize) {
        socket.write_all(&[which as u8; MESSAGE]).unwrap();
        sent += 1;
    }
    let mut events = [Event { what: 0, which: 0 }; 512];
    while answered < round_trips {
        let count = unsafe { epoll_wait(poll, events.as_mut_ptr(), 512, -1) };
        for event in &events[..count as usize] {
            let which = event.which as usize;
            let mut answer = [0; MESSAGE];
            sockets[which].read_exact(&mut answer).unwrap();
            if answer != [which as u8; MESSAGE] {
                return 0;
            }
            answered += 1;
            if sent < round_trips {
                sockets[which].write_all(&answer).unwrap();
                sent += 1;
            }
        }
    }
    answered
}

/// `serve` runs a server on a thread of its own until `stop` was called. It tells its port by the channel once it listens;
/// `stop` is given that port.
pub fn timed_echo(
    given: &Parameters,
    serve: impl FnOnce(std::sync::mpsc::Sender<u16>) + Send,
    stop: impl FnOnce(u16),
) -> Sample {
    let connections = given.number("connections", 64);
    let round_trips = given.number("round_trips", 400_000);
    let (ready, listening) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let serving = scope.spawn(move || {
            let begin = thread_cpu_ns();
            serve(ready);
            thread_cpu_ns() - begin
        });
        let port = listening.recv().unwrap();
        let mut sample = timed(round_trips as f64, round_trips, || talk(port, connections, round_trips));
        stop(port);
        let server_ns = serving.join().unwrap();
        sample.extra = vec![("server_cpu_ns", server_ns / round_trips as f64)];
        sample
    })
}
