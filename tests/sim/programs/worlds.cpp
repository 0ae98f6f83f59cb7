// tests/sim/programs/worlds.cpp: checks the C++ interface of worlds. The argument is the program of the machines.
#include <braid/sim.hpp>

#include <chrono>
#include <cstdio>
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
  check_refused("must have 1 to 63 bytes, got ``", [&] { braid::sim::world().machine("", {program}); });
  check_refused("exists twice", [&] {
    braid::sim::world world;
    world.machine("a", {program});
    world.machine("a", {program});
  });
  check_refused("must drift by -100000 to 100000 ppm, got 200000",
                [&] { braid::sim::world().machine("a", {program}, {.clock_drift_ppm = 200'000}); });
  check_refused("must be one such as 10.0.0.5, got `127.0.0.1`",
                [&] { braid::sim::world().machine("a", {program}, {.address = "127.0.0.1"}); });
  check_refused("the machine `b` comes too late; add machines before the world runs", [&] {
    braid::sim::world world;
    world.machine("a", {program, "wait"});
    world.run_for(1s);
    world.machine("b", {program, "wait"});
  });
  check_refused("max_latency must not be below min_latency",
                [] { braid::sim::world({.min_latency = 2s, .max_latency = 1s}); });
  check_refused("must not be 0", [] { braid::sim::world({.fault_rate = 0}); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string program = argv[1];
  const std::uint64_t first = run_crashes(program, 1);
  check(run_crashes(program, 1) == first, "a seed repeats");
  check(run_crashes(program, 2) != first, "another seed gives another run");
  run_late_start(program);
  run_failure(program);
  run_refusals(program);
  return failures == 0 ? 0 : 1;
}
