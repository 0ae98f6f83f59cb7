// bench/ramp/tokio.rs: the same leaves with Tokio, whose tasks block their workers here.
mod leaves;

use std::sync::mpsc;

use harness::{Parameters, Sample, run_program};
use leaves::Leaves;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn runtime_of(each: &Leaves) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(each.workers).build().unwrap()
}

fn leaves_of(given: &Parameters) -> &'static Leaves {
    Box::leak(Box::new(Leaves::new(given)))
}

async fn leaf(each: &'static Leaves, index: usize, done: mpsc::Sender<()>) {
    each.run(index);
    done.send(()).unwrap();
}

fn post(given: &Parameters) -> Sample {
    let each = leaves_of(given);
    let runtime = runtime_of(each);
    each.timed(|| {
        let (sender, receiver) = mpsc::channel();
        (0..each.count).for_each(|i| drop(runtime.spawn(leaf(each, i, sender.clone()))));
        receiver.iter().take(each.count).for_each(drop);
    })
}

fn post_by_a_job(given: &Parameters) -> Sample {
    let each = leaves_of(given);
    let runtime = runtime_of(each);
    each.timed(|| {
        let (sender, receiver) = mpsc::channel();
        runtime.spawn(async move { (0..each.count).for_each(|i| drop(tokio::spawn(leaf(each, i, sender.clone())))) });
        receiver.iter().take(each.count).for_each(drop);
    })
}

fn main() {
    run_program("ramp", "Tokio", "tokio", &[("post", post), ("post_by_a_job", post_by_a_job)]);
}
