// bench/pools/zig.zig: many small tasks in std.Thread.Pool, posted from outside.
const std = @import("std");
const harness = @import("harness");

const Tasks = struct { pool: *std.Thread.Pool, tasks: u64, steps: u64 };

fn work(steps: u64) void {
    harness.workFor(steps);
    harness.count();
}

fn run(what: Tasks) u64 {
    const before = harness.counted();
    var all: std.Thread.WaitGroup = .{};
    for (0..what.tasks) |_| what.pool.spawnWg(&all, work, .{what.steps});
    all.wait();
    return harness.counted() - before;
}

fn post(given: *harness.Parameters) harness.Sample {
    const tasks = given.number("tasks", 100_000);
    const steps = harness.stepsOf(given.number("length_ns", 0));
    var pool: std.Thread.Pool = undefined;
    harness.startPool(&pool, given);
    defer pool.deinit();
    return harness.timed(tasks, tasks, Tasks{ .pool = &pool, .tasks = tasks, .steps = steps }, run);
}

pub fn main() void {
    harness.runProgram("pools", &.{.{ .name = "post", .run = post }});
}
