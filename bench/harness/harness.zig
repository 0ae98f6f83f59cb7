// bench/harness/harness.zig: a measuring program in Zig that speaks the protocol of bench/README.md.
const std = @import("std");
const builtin = @import("builtin");

/// The allocator that the standard library recommends for many threads.
pub const memory = std.heap.smp_allocator;

pub const Sample = struct { items: u64, wall_ns: u64, cpu_ns: u64, is_right: bool };

const Parameter = struct { name: []const u8, value: u64 };

/// What the command line says about the case, and a note of what was asked for.
pub const Parameters = struct {
    given: []const Parameter,
    used: [16]Parameter = undefined,
    used_count: usize = 0,

    pub fn number(self: *Parameters, name: []const u8, otherwise: u64) u64 {
        var value = otherwise;
        for (self.given) |each| {
            if (std.mem.eql(u8, each.name, name)) value = each.value;
        }
        for (self.used[0..self.used_count]) |each| {
            if (std.mem.eql(u8, each.name, name)) return value;
        }
        self.used[self.used_count] = .{ .name = name, .value = value };
        self.used_count += 1;
        return value;
    }
};

pub const Solution = struct { name: []const u8, run: *const fn (*Parameters) Sample };

/// A pool with so many workers.
pub fn startPool(pool: *std.Thread.Pool, given: *Parameters) void {
    pool.init(.{ .allocator = memory, .n_jobs = given.number("workers", 1) }) catch refuse("no pool");
}

/// How long `run` takes; right when it gives `expected`.
pub fn timed(items: u64, expected: u64, context: anytype, comptime run: fn (@TypeOf(context)) u64) Sample {
    const cpu = cpuNs();
    var timer = std.time.Timer.start() catch refuse("no timer");
    const result = run(context);
    const wall = timer.read();
    return .{ .items = items, .wall_ns = wall, .cpu_ns = cpuNs() - cpu, .is_right = result == expected };
}

const Cell = struct { runs: std.atomic.Value(u64) align(128) = .init(0) };
var cells: [64]Cell = @splat(.{});
var taken: std.atomic.Value(usize) = .init(0);
threadlocal var mine: usize = 0;

/// Counts what many threads have run, without any line that they share.
pub fn count() void {
    if (mine == 0) mine = taken.fetchAdd(1, .monotonic) + 1;
    const cell = &cells[mine % cells.len].runs;
    cell.store(cell.load(.monotonic) + 1, .release);
}

pub fn counted() u64 {
    var total: u64 = 0;
    for (&cells) |*each| total += each.runs.load(.acquire);
    return total;
}

/// Work of a given length: each step needs the one before.
pub fn workFor(steps: u64) void {
    var value = steps;
    for (0..steps) |_| {
        value = value *% 6364136223846793005 +% 1;
        std.mem.doNotOptimizeAway(value);
    }
}

pub fn stepsOf(ns: u64) u64 {
    const steps = 100_000;
    var best: u64 = std.math.maxInt(u64);
    for (0..20) |_| {
        var timer = std.time.Timer.start() catch refuse("no timer");
        workFor(steps);
        best = @min(best, timer.read());
    }
    return ns * steps / @max(best, 1);
}

fn cpuNs() u64 {
    const now = std.posix.clock_gettime(.PROCESS_CPUTIME_ID) catch refuse("no clock");
    return @as(u64, @intCast(now.sec)) * 1_000_000_000 + @as(u64, @intCast(now.nsec));
}

fn peakKib() u64 {
    var buffer: [4096]u8 = undefined;
    const file = std.fs.openFileAbsolute("/proc/self/status", .{}) catch return 0;
    defer file.close();
    const length = file.readAll(&buffer) catch return 0;
    const at = std.mem.indexOf(u8, buffer[0..length], "VmHWM:") orelse return 0;
    var words = std.mem.tokenizeAny(u8, buffer[at + 6 .. length], " \t");
    return std.fmt.parseInt(u64, words.next() orelse "0", 10) catch 0;
}

fn print(comptime format: []const u8, arguments: anytype) void {
    const text = std.fmt.allocPrint(memory, format, arguments) catch return;
    defer memory.free(text);
    std.fs.File.stdout().writeAll(text) catch {};
}

fn refuse(why: []const u8) noreturn {
    std.debug.print("{s}; bench/README.md tells the protocol\n", .{why});
    std.process.exit(2);
}

/// The main function of a program.
pub fn runProgram(subject: []const u8, solutions: []const Solution) void {
    var given: [16]Parameter = undefined;
    var given_count: usize = 0;
    var case: []const u8 = "";
    var warmups: u64 = 1;
    var rounds: u64 = 1;
    const words = std.process.argsAlloc(memory) catch refuse("no arguments");
    var at: usize = 1;
    while (at < words.len) : (at += 2) {
        if (std.mem.eql(u8, words[at], "--list")) return list(subject, solutions);
        if (at + 1 == words.len or !std.mem.startsWith(u8, words[at], "--")) refuse("an option needs a value");
        const name = words[at][2..];
        const value = words[at + 1];
        if (std.mem.eql(u8, name, "case")) {
            case = value;
        } else if (std.mem.eql(u8, name, "contender")) {
            if (!std.mem.eql(u8, value, contender)) refuse("nobody has that name");
        } else {
            const number = std.fmt.parseInt(u64, value, 10) catch refuse("a parameter needs a number");
            if (std.mem.eql(u8, name, "warmups")) {
                warmups = number;
            } else if (std.mem.eql(u8, name, "rounds-in-process")) {
                rounds = number;
            } else {
                given[given_count] = .{ .name = name, .value = number };
                given_count += 1;
            }
        }
    }
    for (solutions) |each| {
        if (std.mem.eql(u8, each.name, case)) runSolution(subject, each, given[0..given_count], warmups, rounds);
    }
    refuse("nobody solves that");
}

const contender = "Zig std.Thread.Pool";

fn list(subject: []const u8, solutions: []const Solution) void {
    for (solutions) |each| {
        print("{{\"subject\":\"{s}\",\"case\":\"{s}\",\"contender\":\"{s}\",\"kind\":\"rival\"}}\n", .{ subject, each.name, contender });
    }
}

fn runSolution(subject: []const u8, what: Solution, given: []const Parameter, warmups: u64, rounds: u64) noreturn {
    var parameters = Parameters{ .given = given };
    var is_right = true;
    for (0..warmups) |_| is_right = what.run(&parameters).is_right and is_right;
    for (0..rounds) |round| {
        const sample = what.run(&parameters);
        is_right = is_right and sample.is_right;
        print("{{\"subject\":\"{s}\",\"case\":\"{s}\",\"params\":{{", .{ subject, what.name });
        for (parameters.used[0..parameters.used_count], 0..) |each, i| {
            print("{s}\"{s}\":{d}", .{ if (i == 0) "" else ",", each.name, each.value });
        }
        print("}},\"contender\":\"{s}\",\"kind\":\"rival\",\"version\":\"{s}\",\"compiler\":\"zig {s}\",\"round\":{d},\"items\":{d}," ++
            "\"wall_ns\":{d},\"cpu_ns\":{d},\"peak_kib\":{d},\"extra\":{{}},\"check\":{}}}\n", .{
            contender,      builtin.zig_version_string, builtin.zig_version_string, round,           sample.items,
            sample.wall_ns, sample.cpu_ns,              peakKib(),                  sample.is_right,
        });
    }
    for (given) |each| {
        for (parameters.used[0..parameters.used_count]) |used| {
            if (std.mem.eql(u8, used.name, each.name)) break;
        } else refuse("there is no such parameter");
    }
    std.process.exit(if (is_right) 0 else 1);
}
