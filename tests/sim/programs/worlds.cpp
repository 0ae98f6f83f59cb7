// tests/sim/programs/worlds.cpp: checks the C++ interface of worlds. The arguments are programs of machines: one
// that uses the network, and one that uses a disk.
#include <braid/sim.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;

int failures = 0;

void check(bool is_true, const char* sentence) {
  if (is_true) return;
  std::printf("FAILED: %s\n", sentence);
  ++failures;
}

auto is_in(const std::string& text, const std::string& part) -> bool { return text.find(part) != std::string::npos; }

auto run_crashes(const std::string& program, std::uint64_t seed) -> std::uint64_t {
  braid::sim::world world({.seed = seed, .splits = 5});
  auto server = world.machine("server", {program, "serve"});
  auto client = world.machine("client", {program, "persist", "server", "40"}, {.must_end = true});
  check(server.address() == "10.0.0.1" && client.address() == "10.0.0.2", "machines have addresses");
  check(!server.is_running(), "a machine starts when the world runs");
  world.at(1s, [&] { server.crash(); });
  world.at(2s, [&] {
    check(!server.is_running(), "a machine that has crashed does not run");
    check(!server.status(), "it has no status");
    server.restart();
    server.restart();  // does nothing
  });
  world.at(3s, [&] { world.cut_one_way(server, client); });
  world.at(4s, [&] { world.heal(client, server); });
  world.at(5s, [&] { server.kill(); });
  world.at(6s, [&] { server.restart(); });
  check(world.run_for(2s), "no program has failed");
  check(world.now() == 2s, "the world stops at its time");
  check(world.run_for(10min) && world.now() == 10min + 2s, "the world goes on");
  check(client.status() == 0 && !client.is_running(), "the client has ended");
  check(is_in(client.output(), "all bytes were answered"), "its output is kept");
  check(world.end() && !server.is_running(), "the end ends all machines");
  check(is_in(world.report(), "started 3 times"), "the report counts starts");
  return world.hash();
}

/// Runs a log on a disk through a slow sync, a crash and a full disk. `program` writes records and syncs them.
void run_disk(const std::string& program) {
  namespace fs = std::filesystem;
  braid::sim::world world({.seed = 3});
  auto store = world.machine("store", {program, "append", "sync"}, {.disk = true});
  check(store.disk_folder().empty(), "a disk exists while the world runs");
  world.at(1s, [&] { store.slow_disk(10s, "log"); });
  world.at(3s, [&] {
    check(fs::file_size(store.disk_folder() + "/log") > 7000, "a test can look at the disk");
    store.crash();
  });
  check(world.run_for(4s), "no program has failed");
  const auto kept = fs::file_size(store.disk_folder() + "/log") / 700;
  check(is_in(store.output(), "wrote " + std::to_string(kept)) ||
            is_in(store.output(), "wrote " + std::to_string(kept - 1)),
        "a crash keeps what was synced");
  store.heal_disk();
  store.restart();
  check(world.run_for(1s) && is_in(store.output(), "found " + std::to_string(kept)), "the program finds its records");
  const std::string folder = store.disk_folder();
  check(world.end() && !fs::exists(folder), "a disk is deleted at the end of the world");

  braid::sim::world full;
  auto writer = full.machine("writer", {program, "append", "sync"}, {.disk = true});
  full.at(1s, [&] { writer.fill_disk(); });
  check(!full.run_for(1min) && is_in(writer.output(), "No space left on device"), "a disk may be full");
  braid::sim::world broken;
  auto other = broken.machine("writer", {program, "append", "sync"}, {.disk = true});
  broken.at(1s, [&] { other.fail_disk("l*"); });
  check(!broken.run_for(1min) && is_in(other.output(), "Input/output error"), "a disk may fail");
}

void run_late_start(const std::string& program) {
  braid::sim::world world;
  auto late = world.machine("late", {program, "exit", "x", "0"}, {.starts_at = 5s});
  check(world.run_for(4s) && !late.is_running(), "a machine may start later");
  check(world.run_for(3s) && late.status() == 0, "it starts at its time");
}

void run_failure(const std::string& program) {
  braid::sim::world world;
  auto bad = world.machine("bad", {program, "exit", "x", "9"});
  check(!world.run_for(1min), "a failure ends the world");
  check(world.now() < 2s && bad.status() == 9, "it ends at once, with the status");
  check(!world.run_for(1min), "it stays ended");
}

template <typename Function>
void check_refused(const char* sentence, Function make) {
  try {
    make();
    check(false, sentence);
  } catch (const std::invalid_argument& error) {
    check(is_in(error.what(), sentence), error.what());
  }
}

void run_refusals(const std::string& program) {
  check_refused("the program `/nowhere/program` does not exist",
                [] { braid::sim::world().machine("a", {"/nowhere/program"}); });
  check_refused("has no program", [] { braid::sim::world().machine("a", {}); });
  check_refused("must have 1 to 63 letters, digits, `-`, `.` and `_`, got ``",
                [&] { braid::sim::world().machine("", {program}); });
  check_refused("must be unique", [&] {
    braid::sim::world world;
    world.machine("a", {program});
    world.machine("a", {program});
  });
  check_refused("must drift by -100000 to 100000 ppm, got 200000",
                [&] { braid::sim::world().machine("a", {program}, {.clock_drift_ppm = 200'000}); });
  check_refused("must be an IP address such as 10.0.0.5, got `127.0.0.1`",
                [&] { braid::sim::world().machine("a", {program}, {.address = "127.0.0.1"}); });
  check_refused("the machine `b` is added too late; add machines before the world runs", [&] {
    braid::sim::world world;
    world.machine("a", {program, "wait"});
    world.run_for(1s);
    world.machine("b", {program, "wait"});
  });
  check_refused("max_latency must not be below min_latency",
                [] { braid::sim::world({.min_latency = 2s, .max_latency = 1s}); });
  check_refused("the machine `a` has no disk that can fail",
                [&] { braid::sim::world().machine("a", {program}).fill_disk(); });
  check_refused("a slow sync must take more than 0 ns, got -1",
                [&] { braid::sim::world().machine("a", {program}, {.disk = true}).slow_disk(-1ns); });
  check_refused("the folder `/nowhere` of the machine `a` does not exist",
                [&] { braid::sim::world().machine("a", {program}, {.folder = "/nowhere", .disk = true}); });
  check_refused("must not be 0", [] { braid::sim::world({.fault_rate = 0}); });
  check_refused("cpus must be 1 to 1024, got 1025", [] { braid::sim::world({.cpus = 1025}); });
  check_refused("max_latency must not be above 1 min",
                [] { braid::sim::world({.max_latency = std::chrono::hours(1)}); });
  check_refused("must be below 277777 h", [] { braid::sim::world().run_for(std::chrono::nanoseconds::max()); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string program = argv[1];
  const std::uint64_t first = run_crashes(program, 1);
  check(run_crashes(program, 1) == first, "a seed repeats");
  check(run_crashes(program, 2) != first, "another seed gives another run");
  run_late_start(program);
  run_failure(program);
  run_disk(argv[2]);
  run_refusals(program);
  return failures == 0 ? 0 : 1;
}
