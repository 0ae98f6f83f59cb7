// bench/fork_join/rayon.rs: the problems of fork-join with rayon: join, scope and parallel iterators.
use harness::problems::*;
use harness::{Parameters, Sample, run_program};
use rayon::prelude::*;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn in_pool(given: &Parameters, run: impl FnOnce() -> Sample + Send) -> Sample {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(given.workers()).build().unwrap();
    pool.install(run)
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (left, right) = rayon::join(|| fib(n - 1), || fib(n - 2));
    left + right
}

fn skynet(number: u64, size: u64) -> u64 {
    if size == 1 {
        return number;
    }
    let step = size / SKYNET_CHILDREN;
    (0..SKYNET_CHILDREN).into_par_iter().map(|i| skynet(number + i * step, step)).sum()
}

fn nqueens(queens: Board, row: usize, n: usize) -> u64 {
    if row == n {
        return 1;
    }
    let of = |column| if queens.allows(row, column) { nqueens(queens.with(row, column), row + 1, n) } else { 0 };
    (0..n).into_par_iter().map(of).sum()
}

fn multiply(a: Block, b: Block, c: Block, n: usize) {
    if n <= MATMUL_BLOCK {
        return multiply_block(a, b, c, n);
    }
    let half = n / 2;
    for inner in 0..2 {
        let part = |row, column| {
            multiply(a.quarter(half, row, inner), b.quarter(half, inner, column), c.quarter(half, row, column), half)
        };
        rayon::join(
            || rayon::join(|| part(0, 0), || part(0, 1)),
            || rayon::join(|| part(1, 0), || part(1, 1)),
        );
    }
}

fn uts(state: u64, children: u64) -> u64 {
    if children == 0 {
        return 1;
    }
    let of = |i| {
        let child = uts_child(state, i);
        uts(child, if uts_has_children(child) { UTS_CHILDREN } else { 0 })
    };
    1 + (0..children).into_par_iter().map(of).sum::<u64>()
}

fn run_fib(given: &Parameters) -> Sample {
    let n = given.number("n", 34);
    in_pool(given, || timed_fib(n, fib))
}

fn run_skynet(given: &Parameters) -> Sample {
    let depth = given.number("depth", 7);
    in_pool(given, || timed_skynet(depth, skynet))
}

fn run_nqueens(given: &Parameters) -> Sample {
    let n = given.number("n", 12);
    in_pool(given, || timed_nqueens(n, nqueens))
}

fn run_matmul(given: &Parameters) -> Sample {
    let n = given.number("n", 1024);
    in_pool(given, || timed_matmul(n, multiply))
}

fn run_uts(given: &Parameters) -> Sample {
    let (roots, nodes) = (given.number("roots", 40_000), given.number("nodes", 0));
    in_pool(given, || harness::timed(nodes as f64, nodes, || uts(UTS_ROOT, roots)))
}

fn main() {
    run_program(
        "fork_join",
        "rayon",
        "rayon",
        &[("fib", run_fib), ("skynet", run_skynet), ("nqueens", run_nqueens), ("matmul", run_matmul), ("uts", run_uts)],
    );
}
