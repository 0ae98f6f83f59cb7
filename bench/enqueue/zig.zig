// bench/enqueue/zig.zig: tasks that threads outside hand to std.Thread.Pool, each with the wait group that they end.
const std = @import("std");
const harness = @import("harness");

fn Task(comptime bytes: usize) type {
    return struct {
        fn run(captured: [bytes]u8) void {
            std.mem.doNotOptimizeAway(&captured);
            harness.count();
        }

        fn produce(pool: *std.Thread.Pool, all: *std.Thread.WaitGroup, tasks: u64) void {
            for (0..tasks) |_| pool.spawnWg(all, run, .{@as([bytes]u8, @splat(0))});
        }
    };
}

const Posts = struct { pool: *std.Thread.Pool, producers: u64, each: u64, capture: u64 };

fn produce(what: Posts, all: *std.Thread.WaitGroup) void {
    switch (what.capture) {
        0 => Task(0).produce(what.pool, all, what.each),
        24 => Task(24).produce(what.pool, all, what.each),
        48 => Task(48).produce(what.pool, all, what.each),
        else => Task(128).produce(what.pool, all, what.each),
    }
}

fn post(what: Posts) u64 {
    const before = harness.counted();
    var all: std.Thread.WaitGroup = .{};
    var others: [16]std.Thread = undefined;
    for (others[1..what.producers]) |*other| other.* = std.Thread.spawn(.{}, produce, .{ what, &all }) catch unreachable;
    produce(what, &all);
    for (others[1..what.producers]) |other| other.join();
    all.wait();
    return harness.counted() - before;
}

fn empty(given: *harness.Parameters) harness.Sample {
    const producers = given.number("producers", 1);
    const each = given.number("tasks", 1_000_000) / producers;
    var pool: std.Thread.Pool = undefined;
    harness.startPool(&pool, given);
    defer pool.deinit();
    const what = Posts{ .pool = &pool, .producers = producers, .each = each, .capture = given.number("capture", 0) };
    return harness.timed(each * producers, each * producers, what, post);
}

fn bump(reached: *u64) void {
    reached.* += 1;
}

const Trips = struct { pool: *std.Thread.Pool, trips: u64 };

fn travel(what: Trips) u64 {
    var reached: u64 = 0;
    for (0..what.trips) |_| {
        var done: std.Thread.WaitGroup = .{};
        what.pool.spawnWg(&done, bump, .{&reached});
        done.wait();
    }
    return reached;
}

fn roundTrip(given: *harness.Parameters) harness.Sample {
    const trips = given.number("trips", 20_000);
    var pool: std.Thread.Pool = undefined;
    harness.startPool(&pool, given);
    defer pool.deinit();
    return harness.timed(trips, trips, Trips{ .pool = &pool, .trips = trips }, travel);
}

pub fn main() void {
    harness.runProgram("enqueue", &.{ .{ .name = "empty", .run = empty }, .{ .name = "round_trip", .run = roundTrip } });
}
