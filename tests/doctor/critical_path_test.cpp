// tests/doctor/critical_path_test.cpp: paths through traces that are written here, record by record.
#include <doctor/critical_path.hpp>
#include <doctor/path_text.hpp>

#include <braid/trace/detail/perfetto.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

using braid::detail::perfetto_writer;
using braid::detail::trace_event;
using braid::doctor::critical_path;
using braid::doctor::find_requests;
using braid::doctor::parse_trace;
using braid::doctor::path_step;

namespace {

constexpr std::uint64_t activity = 0x2'0000'0000 + (std::uint64_t{1} << 40U);
constexpr std::uint64_t job = 0x1000;
constexpr std::uint64_t other_job = 0x2000;
constexpr std::uint64_t wait = 0x3001;
constexpr std::uint64_t other_wait = 0x4001;
constexpr std::uint64_t sleeper = 0x5000;  // a worker

/// A trace with two threads. Times are nanoseconds from 1000 on.
class written_trace {
 public:
  written_trace() {
    out_.process(7, "program");
    for (std::uint32_t i = 0; i < threads_.size(); ++i) {
      threads_[i].id = 2 + i;
      out_.thread(threads_[i], 7, 8 + i, i == 0 ? "loop" : "worker", 1000);
    }
    out_.track(activity, "request 1");
  }

  void request(int thread, std::uint64_t when) {
    add(thread, when, {.what = begin, .name = named("r"), .track = activity});
  }
  void request_ends(int thread, std::uint64_t when) { add(thread, when, {.what = end, .track = activity}); }
  void slice(int thread, std::uint64_t when, const char* name, std::uint64_t cause = 0) {
    add(thread, when, {.what = begin, .name = named(name), .flow_end = cause});
  }
  void ends(int thread, std::uint64_t when) { add(thread, when, {.what = end}); }
  void mark(int thread, std::uint64_t when, const char* name, std::uint64_t flow) {
    add(thread, when, {.name = named(name), .flow = flow});
  }
  void due(int thread, std::uint64_t when, std::uint64_t flow, std::uint64_t ns) {
    add(thread, when, {.name = named("due"), .flow = flow, .due = ns});
  }
  void woken(int thread, std::uint64_t when, std::uint64_t worker) {
    add(thread, when, {.name = named("woken"), .flow_end = worker});
  }

  [[nodiscard]] auto bytes() const -> const std::string& { return out_.bytes(); }

 private:
  static constexpr auto begin = trace_event::kind::begin;
  static constexpr auto end = trace_event::kind::end;

  auto named(const char* name) -> std::uint32_t { return out_.name(name); }
  void add(int thread, std::uint64_t when, const trace_event& what) {
    out_.event(threads_[static_cast<std::size_t>(thread)], 1000 + when, what);
  }

  perfetto_writer out_;
  std::array<perfetto_writer::sequence, 2> threads_;
};

/// "kind thread what: nanoseconds" of each step; and that they add up.
auto path_of(std::string_view bytes) -> std::string {
  const auto trace = parse_trace(bytes);
  const auto requests = find_requests(trace, "");
  REQUIRE(requests.size() == 1);
  std::string shown;
  std::uint64_t at = requests[0].first.when;
  for (const path_step& step : critical_path(trace, requests[0])) {
    CHECK(step.begin == at);
    at = step.end;
    shown += std::string(name_of(step.kind)) + " " + trace.threads[step.thread].name + " " + step.what + ": " +
             std::to_string(step.length()) + "\n";
  }
  CHECK(at == requests[0].last.when);
  return shown;
}

/// A request that offloads a job, which comes after another one in its queue, and then sleeps until the loop, which
/// another task holds up, comes to it.
auto offload_and_sleep() -> written_trace {
  written_trace trace;
  trace.slice(0, 0, "handle", job);
  trace.request(0, 10);
  trace.mark(0, 20, "post", other_job);
  trace.ends(0, 25);
  trace.slice(1, 5, "in front", 0x7000);
  trace.ends(1, 60);
  trace.slice(1, 62, "compute", other_job);
  trace.slice(1, 65, "node");
  trace.ends(1, 90);
  trace.mark(1, 92, "post", job);
  trace.ends(1, 93);
  trace.slice(0, 96, "resume", job);
  trace.mark(0, 100, "sleep", wait);
  trace.due(0, 101, wait, 200);
  trace.ends(0, 102);
  trace.slice(0, 250, "tick");
  trace.slice(0, 250, "stalls", 0x8000);
  trace.ends(0, 380);
  trace.ends(0, 381);
  trace.slice(0, 382, "timers");
  trace.slice(0, 384, "handle", wait);
  trace.request_ends(0, 390);
  trace.ends(0, 391);
  trace.ends(0, 392);
  return trace;
}

}  // namespace

TEST_CASE("queues, computing and timers, and what was in front") {
  CHECK(path_of(offload_and_sleep().bytes()) ==
        "cpu loop handle: 10\n"
        "queued worker behind in front: 42\n"
        "cpu worker compute: 3\n"
        "cpu worker node: 25\n"
        "cpu worker compute: 2\n"
        "queued loop until loop came to it: 4\n"
        "cpu loop resume: 4\n"
        "timer loop sleep in handle: 200\n"
        "queued loop behind stalls: 84\n"
        "cpu loop handle: 6\n");
}

TEST_CASE("a wait that a timer has stopped is that timer's, and the time before it is the coroutine's") {
  written_trace trace;
  trace.slice(0, 0, "mine", wait);
  trace.request(0, 10);
  trace.mark(0, 30, "semaphore", other_wait);
  trace.ends(0, 31);
  trace.slice(0, 70, "timers");
  trace.slice(0, 71, "stop");
  trace.mark(0, 72, "ready", other_wait);
  trace.mark(0, 73, "post", job);
  trace.ends(0, 74);
  trace.ends(0, 75);
  trace.slice(0, 80, "resume", job);
  trace.slice(0, 82, "mine", other_wait);
  trace.request_ends(0, 85);
  trace.ends(0, 86);
  trace.ends(0, 87);
  CHECK(path_of(trace.bytes()) ==
        "cpu loop mine: 20\n"
        "timer loop a timer that stopped semaphore in mine: 42\n"
        "queued loop until loop came to it: 10\n"
        "cpu loop mine: 3\n");
}

TEST_CASE("what stops a wait is followed, and not what the wait was for") {
  written_trace trace;
  trace.slice(0, 0, "mine", wait);
  trace.request(0, 10);
  trace.mark(0, 20, "sleep", other_wait);
  trace.due(0, 20, other_wait, 1000);
  trace.ends(0, 21);
  trace.slice(1, 5, "theirs", 0x9001);
  trace.slice(1, 70, "stop");
  trace.mark(1, 71, "ready", other_wait);
  trace.ends(1, 72);
  trace.ends(1, 73);
  trace.slice(0, 75, "mine", other_wait);
  trace.request_ends(0, 80);
  trace.ends(0, 81);
  CHECK(path_of(trace.bytes()) ==
        "cpu loop mine: 10\n"
        "cpu worker theirs: 50\n"
        "cpu worker stop: 1\n"
        "queued loop until loop came to it: 4\n"
        "cpu loop mine: 5\n");
}

TEST_CASE("a lock is had by the coroutine that gives it back") {
  written_trace trace;
  trace.slice(0, 0, "mine", wait);
  trace.request(0, 10);
  trace.mark(0, 20, "semaphore", other_wait);
  trace.ends(0, 21);
  trace.slice(1, 5, "theirs", 0x9001);
  trace.mark(1, 70, "ready", other_wait);
  trace.ends(1, 71);
  trace.slice(0, 75, "mine", other_wait);
  trace.request_ends(0, 80);
  trace.ends(0, 81);
  CHECK(path_of(trace.bytes()) ==
        "cpu loop mine: 10\n"
        "lock loop semaphore in mine, had by theirs on worker: 50\n"
        "queued loop until loop came to it: 5\n"
        "cpu loop mine: 5\n");
}

TEST_CASE("what the kernel brings is I/O, except while the loop did not ask") {
  for (const bool stalls : {false, true}) {
    written_trace trace;
    trace.slice(0, 0, "mine", job);
    trace.request(0, 10);
    trace.mark(0, 20, "I/O", wait);
    trace.ends(0, 21);
    trace.slice(0, 22, "poll");
    trace.ends(0, 30);
    if (stalls) {
      trace.slice(0, 31, "stalls", other_job);
      trace.ends(0, 95);
    }
    trace.slice(0, 96, "wait");
    trace.ends(0, 100);
    trace.slice(0, 103, "mine", wait);
    trace.request_ends(0, 110);
    trace.ends(0, 111);
    const std::string whole =
        "cpu loop mine: 10\n"
        "io loop I/O in mine: 80\n"
        "queued loop until loop came to it: 3\n"
        "cpu loop mine: 7\n";
    const std::string parts =
        "cpu loop mine: 10\n"
        "io loop I/O in mine: 10\n"
        "unknown loop I/O in mine, or behind stalls: 66\n"
        "io loop I/O in mine: 4\n"
        "queued loop until loop came to it: 3\n"
        "cpu loop mine: 7\n";
    CHECK(path_of(trace.bytes()) == (stalls ? parts : whole));
  }
}

TEST_CASE("the path goes through what sets an event, and no further back than the wait") {
  written_trace trace;
  trace.slice(0, 0, "mine", job);
  trace.request(0, 10);
  trace.mark(0, 40, "event", wait);
  trace.ends(0, 41);
  trace.slice(1, 5, "theirs", other_job);
  trace.slice(1, 50, "parked");
  trace.ends(1, 70);
  trace.woken(1, 71, sleeper);
  trace.mark(1, 80, "ready", wait);
  trace.ends(1, 81);
  trace.mark(0, 45, "post", job + 16);
  trace.mark(0, 66, "wake", sleeper);
  trace.slice(0, 90, "mine", wait);
  trace.request_ends(0, 95);
  trace.ends(0, 96);
  CHECK(path_of(trace.bytes()) ==
        "cpu loop mine: 30\n"
        "cpu worker theirs: 10\n"
        "unknown loop an unknown cause on thread loop: 16\n"
        "queued worker the wake of worker: 4\n"
        "cpu worker theirs: 10\n"
        "queued loop until loop came to it: 10\n"
        "cpu loop mine: 5\n");
}

TEST_CASE("a span of a thread, and what blocks in it") {
  written_trace trace;
  trace.slice(0, 0, "mine");
  trace.slice(0, 10, "blocked");
  trace.ends(0, 30);
  trace.ends(0, 40);
  const auto read = parse_trace(trace.bytes());
  const auto found = find_requests(read, "mine");
  REQUIRE(found.size() == 1);
  CHECK(to_text(read, found) ==
        "mine: 0.040 µs\n"
        "           0.010  cpu      loop             mine\n"
        "           0.020  blocked  loop             blocked\n"
        "           0.010  cpu      loop             mine\n"
        "  0.040 = cpu 0.020 + blocked 0.020\n");
  CHECK(find_requests(read, "yours").empty());
}

TEST_CASE("whatever the bytes are, they are refused or their paths add up") {
  const std::string whole = offload_and_sleep().bytes();
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i <= round % 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 5 == 0) bytes.resize(random() % bytes.size());
    try {
      const auto trace = parse_trace(bytes);
      for (const auto& request : find_requests(trace, "")) {
        std::uint64_t sum = 0;
        for (const path_step& step : critical_path(trace, request)) sum += step.length();
        CHECK(sum == request.length());
      }
    } catch (const std::runtime_error&) {
      ++refused;
    }
  }
  CHECK(refused > 100);
  CHECK(refused < 2900);
}

TEST_CASE("tracks of paths can be read as part of the trace") {
  const std::string whole = offload_and_sleep().bytes();
  const auto before = parse_trace(whole);
  const auto after = parse_trace(whole + format_tracks(before, find_requests(before, "")));
  CHECK(!before.has_paths);
  CHECK(after.has_paths);
  CHECK(to_text(after, find_requests(after, "")) == to_text(before, find_requests(before, "")));
}
