// examples/10_job_slab.cpp: jobs in slots that are made beforehand: one that is
// followed by others, and one whose end stands for the end of its parts.
#include <braid/slab.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

/// A job may be an object: its state comes back with the result.
struct counter {
  int count = 0;
  void operator()() { ++count; }
};

/// Fills its part of a buffer.
struct fill {
  std::span<unsigned char> part;
  unsigned char value;
  void operator()() {
    for (unsigned char& each : part) each = value;
  }
};

/// Has what cannot be copied.
struct table {
  std::unique_ptr<std::vector<int>> rows;
  void operator()() { rows = std::make_unique<std::vector<int>>(3); }
};

auto add_up(std::span<const unsigned char> bytes) -> int {
  int total = 0;
  for (const unsigned char each : bytes) total += each;
  return total;
}

int main() {
  // [program]
  braid::job_slab jobs({.jobs_per_thread = 4, .threads = 1});

  // A job may be scheduled before the threads are there.
  const auto hello = braid::or_throw(jobs.allocate([] { std::puts("hello"); }));
  braid::or_throw(jobs.schedule(hello));
  braid::or_throw(jobs.start());
  braid::or_throw(jobs.wait(hello));

  // The state of a job, as it is after its run.
  const auto counted = braid::or_throw(jobs.allocate(counter{.count = 41}));
  braid::or_throw(jobs.schedule(counted));
  std::printf("counted to %d\n",
              braid::or_throw(jobs.wait_result<counter>(counted)).count);

  // One after the other: only the first is scheduled.
  const auto root = braid::or_throw(jobs.allocate([] { std::puts("first"); }));
  const auto second =
      braid::or_throw(jobs.allocate([] { std::puts("second"); }));
  braid::or_throw(jobs.continue_with(root, second));
  braid::or_throw(jobs.schedule(root));
  braid::or_throw(jobs.wait(second));

  // The whole buffer is filled when the job that fills its first part has
  // finished.
  std::array<unsigned char, 256> buffer{};
  const std::span<unsigned char> all(buffer);
  const auto whole = braid::or_throw(jobs.allocate(fill{all.first(64), 1}));
  for (std::size_t part = 1; part < 4; ++part) {
    const auto child =
        braid::or_throw(jobs.allocate(fill{all.subspan(part * 64, 64), 1}));
    braid::or_throw(jobs.finish_with(child, whole));
    braid::or_throw(jobs.schedule(child));
  }
  // Four slots, and the first of them has not finished.
  const auto none = jobs.allocate([] {});
  std::printf("a fifth: %s\n", none.error().message().c_str());
  braid::or_throw(jobs.schedule(whole));
  braid::or_throw(jobs.wait(whole));
  std::printf("sum of the buffer: %d\n", add_up(all));

  // [discard]
  // A job that is not wanted after all gives its slot back.
  const auto unwanted =
      braid::or_throw(jobs.allocate([] { std::puts("never"); }));
  braid::or_throw(jobs.discard(unwanted));

  // A result that cannot be copied is moved out.
  const auto made = braid::or_throw(jobs.allocate(table{}));
  braid::or_throw(jobs.schedule(made));
  std::printf("a table of %zu rows\n",
              braid::or_throw(jobs.wait_result<table>(made)).rows->size());
  // [/discard]

  // Their slots are used again by now, and the slab knows it.
  std::printf("the first job: %s\n",
              jobs.wait(hello).error().message().c_str());
  jobs.stop(braid::job_slab::stop_mode::drain);
  braid::or_throw(jobs.join());
  // [/program]
}
