// bench/ramp/rayon.rs: the same leaves with rayon.
mod leaves;

use std::sync::mpsc;

use harness::{Parameters, Sample, run_program};
use leaves::Leaves;
use rayon::prelude::*;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn pool_of(each: &Leaves) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(each.workers).build().unwrap()
}

fn in_pool(given: &Parameters, run: impl FnOnce(&Leaves) + Send) -> Sample {
    let each = Leaves::new(given);
    pool_of(&each).install(|| each.timed(|| run(&each)))
}

fn tree_of(each: &Leaves, first: usize, last: usize) {
    if last - first == 1 {
        return each.run(first);
    }
    let middle = first + (last - first) / 2;
    rayon::join(|| tree_of(each, first, middle), || tree_of(each, middle, last));
}

fn spine_of(each: &Leaves, left: usize) {
    if left == 1 {
        return each.run(0);
    }
    rayon::join(|| spine_of(each, left - 1), || each.run(left - 1));
}

fn group_of(each: &Leaves) {
    rayon::scope(|scope| (0..each.count).for_each(|i| scope.spawn(move |_| each.run(i))));
}

fn post(given: &Parameters) -> Sample {
    let each: &'static Leaves = Box::leak(Box::new(Leaves::new(given)));
    let pool = pool_of(each);
    each.timed(|| {
        let (sender, receiver) = mpsc::channel();
        for i in 0..each.count {
            let sender = sender.clone();
            pool.spawn(move || {
                each.run(i);
                sender.send(()).unwrap();
            });
        }
        receiver.iter().take(each.count).for_each(drop);
    })
}

fn main() {
    run_program(
        "ramp",
        "rayon",
        "rayon",
        &[
            ("post", post),
            ("tree", |given| in_pool(given, |each| tree_of(each, 0, each.count))),
            ("spine", |given| in_pool(given, |each| spine_of(each, each.count))),
            ("group", |given| in_pool(given, group_of)),
            ("for", |given| in_pool(given, |each| (0..each.count).into_par_iter().with_max_len(1).for_each(|i| each.run(i)))),
        ],
    );
}
