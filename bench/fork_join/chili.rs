// bench/fork_join/chili.rs: the problems of fork-join with chili, whose only fork has two sides: ranges are halved.
use chili::{Config, Scope, ThreadPool};
use harness::problems::*;
use harness::{Parameters, Sample, run_program};
use std::num::NonZero;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The thread that asks works, too.
fn in_pool(given: &Parameters, run: impl FnOnce(&mut Scope<'_>) -> Sample) -> Sample {
    let pool = ThreadPool::with_config(Config { thread_count: NonZero::new(given.workers()), ..Config::default() });
    run(&mut pool.scope())
}

/// The sum of `of(i)` from `first` to before `last`.
fn sum(scope: &mut Scope<'_>, first: u64, last: u64, of: &(impl Fn(&mut Scope<'_>, u64) -> u64 + Sync)) -> u64 {
    if last - first == 1 {
        return of(scope, first);
    }
    let middle = first + (last - first) / 2;
    let (left, right) = scope.join(|s| sum(s, first, middle, of), |s| sum(s, middle, last, of));
    left + right
}

fn fib(scope: &mut Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (left, right) = scope.join(|s| fib(s, n - 1), |s| fib(s, n - 2));
    left + right
}

fn skynet(scope: &mut Scope<'_>, number: u64, size: u64) -> u64 {
    if size == 1 {
        return number;
    }
    let step = size / SKYNET_CHILDREN;
    sum(scope, 0, SKYNET_CHILDREN, &|s: &mut Scope<'_>, i| skynet(s, number + i * step, step))
}

fn nqueens(scope: &mut Scope<'_>, queens: Board, row: usize, n: usize) -> u64 {
    if row == n {
        return 1;
    }
    sum(scope, 0, n as u64, &|s: &mut Scope<'_>, column| {
        let column = column as usize;
        if queens.allows(row, column) { nqueens(s, queens.with(row, column), row + 1, n) } else { 0 }
    })
}

fn multiply(scope: &mut Scope<'_>, a: Block, b: Block, c: Block, n: usize) {
    if n <= MATMUL_BLOCK {
        return multiply_block(a, b, c, n);
    }
    let half = n / 2;
    for inner in 0..2 {
        let part = |s: &mut Scope<'_>, row, column| {
            multiply(s, a.quarter(half, row, inner), b.quarter(half, inner, column), c.quarter(half, row, column), half)
        };
        scope.join(
            |s| s.join(|s| part(s, 0, 0), |s| part(s, 0, 1)),
            |s| s.join(|s| part(s, 1, 0), |s| part(s, 1, 1)),
        );
    }
}

fn uts(scope: &mut Scope<'_>, state: u64, children: u64) -> u64 {
    if children == 0 {
        return 1;
    }
    1 + sum(scope, 0, children, &|s: &mut Scope<'_>, i| {
        let child = uts_child(state, i);
        uts(s, child, if uts_has_children(child) { UTS_CHILDREN } else { 0 })
    })
}

fn run_fib(given: &Parameters) -> Sample {
    let n = given.number("n", 34);
    in_pool(given, |scope| timed_fib(n, |n| fib(scope, n)))
}

fn run_skynet(given: &Parameters) -> Sample {
    let depth = given.number("depth", 7);
    in_pool(given, |scope| timed_skynet(depth, |number, size| skynet(scope, number, size)))
}

fn run_nqueens(given: &Parameters) -> Sample {
    let n = given.number("n", 12);
    in_pool(given, |scope| timed_nqueens(n, |queens, row, n| nqueens(scope, queens, row, n)))
}

fn run_matmul(given: &Parameters) -> Sample {
    let n = given.number("n", 1024);
    in_pool(given, |scope| timed_matmul(n, |a, b, c, n| multiply(scope, a, b, c, n)))
}

fn run_uts(given: &Parameters) -> Sample {
    let (roots, nodes) = (given.number("roots", 40_000), given.number("nodes", 0));
    in_pool(given, |scope| harness::timed(nodes as f64, nodes, || uts(scope, UTS_ROOT, roots)))
}

fn main() {
    run_program(
        "fork_join",
        "chili",
        "chili",
        &[("fib", run_fib), ("skynet", run_skynet), ("nqueens", run_nqueens), ("matmul", run_matmul), ("uts", run_uts)],
    );
}
