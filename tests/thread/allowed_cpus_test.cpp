// tests/thread/allowed_cpus_test.cpp: mask, cpuset and online CPUs, and what counts when they contradict each other.
#include <braid/thread/detail/allowed_cpus.hpp>

#include <doctest/doctest.h>

#include <tests/support/machine_tree.hpp>

#include <thread>

#include <sched.h>

using braid::cpu_set;
using braid::detail::read_allowed_cpus;
using braid::testing::machine_tree;

TEST_CASE("mask, cpuset and online CPUs are intersected, and the reason names them") {
  const machine_tree files;
  files.write("sys/devices/system/cpu/online", "0-15\n");
  CHECK(read_allowed_cpus(files.path()).cpus == cpu_set::range(0, 15));
  CHECK(read_allowed_cpus(files.path()).reason == "online CPUs 0-15");
  files.allow(cpu_set::range(4, 31));
  CHECK(read_allowed_cpus(files.path()).cpus == cpu_set::range(4, 15));
  files.write("proc/self/cgroup", "0::/app\n");
  files.write("sys/fs/cgroup/app/cpuset.cpus.effective", "0-7,20\n");
  const auto allowed = read_allowed_cpus(files.path());
  CHECK(allowed.cpus == cpu_set::range(4, 7));
  CHECK(allowed.reason ==
        "affinity mask 4-31, cpuset of /sys/fs/cgroup/app/cpuset.cpus.effective 0-7,20, online CPUs 0-15");
}

TEST_CASE("a set that would leave nothing is passed over, and the reason says so") {
  const machine_tree files;
  files.allow({8, 9});
  files.write("sys/devices/system/cpu/online", "0-3\n");
  const auto allowed = read_allowed_cpus(files.path());
  CHECK(allowed.cpus == cpu_set{8, 9});
  CHECK(allowed.reason == "affinity mask 8-9, online CPUs 0-3 (ignored: no CPU would be left)");
}

TEST_CASE("a mask that makes no sense counts as none") {
  const machine_tree files;
  files.write("sys/devices/system/cpu/online", "0-3\n");
  for (const char* text : {"", "Cpus_allowed_list:", "Cpus_allowed_list:\t\n", "Cpus_allowed_list:\t3-1\n",
                           "Cpus_allowed_list:\t9999\n", "Cpus_allowed:\t1\n", "\xff"}) {
    CAPTURE(text);
    files.write("proc/self/status", text);
    CHECK(read_allowed_cpus(files.path()).cpus == cpu_set::range(0, 3));
  }
}

TEST_CASE("where nothing can be read the mask of this process counts") {
  const machine_tree nothing;
  const auto allowed = read_allowed_cpus(nothing.path());
  CHECK(allowed.cpus.contains_all(read_allowed_cpus().cpus));
  CHECK(allowed.reason.starts_with("affinity mask of this process "));
}

TEST_CASE("on this machine the CPUs are those that the system lets the process have") {
  cpu_set_t mask;
  REQUIRE(::sched_getaffinity(0, sizeof mask, &mask) == 0);
  const auto allowed = read_allowed_cpus();
  CHECK_FALSE(allowed.cpus.empty());
  for (const unsigned cpu : allowed.cpus) CHECK(CPU_ISSET(cpu, &mask));
  CHECK(allowed.cpus == read_allowed_cpus("/./").cpus);
}

TEST_CASE("a thread that narrows its own mask does not narrow that of the process") {
  const auto before = read_allowed_cpus().cpus;
  std::thread narrowed([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(*before.first(), &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) MESSAGE("no thread may be bound here: nothing is narrowed");
    CHECK(read_allowed_cpus().cpus == before);
  });
  narrowed.join();
}
