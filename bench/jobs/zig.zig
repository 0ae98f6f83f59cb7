// bench/jobs/zig.zig: batches of empty jobs in std.Thread.Pool; the thread that waits runs them, too, beside the workers.
const std = @import("std");
const harness = @import("harness");

const Batches = struct { pool: *std.Thread.Pool, jobs: u64, repeats: u64 };

fn run(what: Batches) u64 {
    const before = harness.counted();
    for (0..what.repeats) |_| {
        var all: std.Thread.WaitGroup = .{};
        for (0..what.jobs) |_| what.pool.spawnWg(&all, harness.count, .{});
        what.pool.waitAndWork(&all);
    }
    return harness.counted() - before;
}

fn basic(given: *harness.Parameters) harness.Sample {
    var pool: std.Thread.Pool = undefined;
    const workers = given.number("workers", 1);
    pool.init(.{ .allocator = harness.memory, .n_jobs = workers - 1 }) catch unreachable;
    defer pool.deinit();
    const what = Batches{ .pool = &pool, .jobs = given.number("jobs", 2_047), .repeats = given.number("repeats", 100) };
    return harness.timed(what.jobs * what.repeats, what.jobs * what.repeats, what, run);
}

pub fn main() void {
    harness.runProgram("jobs", &.{.{ .name = "basic", .run = basic }});
}
