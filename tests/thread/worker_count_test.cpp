// tests/thread/worker_count_test.cpp: allowed CPUs, quotas of cgroups, one of them real, and BRAID_WORKERS.
#include <braid/thread/cgroup.hpp>

#include <doctest/doctest.h>

#include <tests/support/cgroup_tree.hpp>
#include <tests/support/child.hpp>
#include <tests/support/environment.hpp>
#include <tests/support/real_cgroup.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sched.h>
#include <unistd.h>

using braid::default_worker_count;
using braid::testing::real_cgroup;
using braid::testing::scratch_folder;

namespace {

/// A tree of files as a process sees it.
struct tree : braid::testing::cgroup_tree {
  explicit tree(std::string_view memberships) : cgroup_tree(memberships) {
    write("proc/self/status", "Cpus_allowed_list:\t0-3\n");
  }
};

struct workers_variable : braid::testing::environment {
  explicit workers_variable(const char* value) : environment("BRAID_WORKERS", value) {}
};

/// Leaves the calling thread one CPU of those it had, for as long as it lives.
class one_cpu {
 public:
  one_cpu() {
    ::sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && CPU_COUNT(&one) == 0; --cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &one);
    narrowed_ = ::sched_setaffinity(0, sizeof(one), &one) == 0;
  }
  one_cpu(const one_cpu&) = delete;
  auto operator=(const one_cpu&) -> one_cpu& = delete;
  ~one_cpu() { ::sched_setaffinity(0, sizeof(before_), &before_); }

  [[nodiscard]] auto narrowed() const noexcept -> bool { return narrowed_; }

 private:
  cpu_set_t before_{};
  bool narrowed_ = false;
};

/// A cgroup that grants the CPU time of half a CPU; null where the machine allows none.
auto half_a_cpu() -> std::unique_ptr<real_cgroup> {
  for (const char* parent : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"})
    if (auto group = real_cgroup::make(parent, "cpu.cfs_quota_us"))
      return group->write("cpu.cfs_period_us", "100000") && group->write("cpu.cfs_quota_us", "50000") ? std::move(group)
                                                                                                      : nullptr;
  auto group = real_cgroup::make("/sys/fs/cgroup", "cpu.max");
  return group && group->write("cpu.max", "50000 100000") ? std::move(group) : nullptr;
}

/// In a child: 0 where the count follows the quota of the cgroup, which it enters.
void count_inside(const real_cgroup& group) {
  if (!group.write("cgroup.procs", std::to_string(::getpid()))) ::_exit(77);
  const auto count = default_worker_count();
  std::fprintf(stderr, "%s", count.reason.c_str());
  const bool follows = count.workers == 1 && count.quota && count.quota->cpus == 0.5;
  ::_exit(follows && std::filesystem::path(count.quota->file).parent_path().filename() == group.path().filename() ? 0
                                                                                                                  : 1);
}

}  // namespace

TEST_CASE("a quota is rounded up, to one worker at least and to the allowed CPUs at most") {
  const workers_variable nobody_says(nullptr);
  const tree files("0::/app\n");
  files.limit_v2("/app", "1000 100000\n");
  CHECK(default_worker_count(files.path()).workers == 1);
  files.limit_v2("/app", "100001 100000\n");
  CHECK(default_worker_count(files.path()).workers == 2);
  files.limit_v2("/app", "100000 100000\n");
  CHECK(default_worker_count(files.path()).workers == 1);
  files.limit_v2("/app", "350000 100000\n");
  CHECK(default_worker_count(files.path()).workers == 4);
  files.limit_v2("/app", "999999999999999 1\n");
  CHECK(default_worker_count(files.path()).workers == 4);
  CHECK(default_worker_count(files.path()).allowed_cpus == 4);
}

TEST_CASE("without a quota every allowed CPU gets a worker") {
  const workers_variable nobody_says(nullptr);
  const tree unlimited("");
  CHECK(default_worker_count(unlimited.path()).workers == 4);
  CHECK(default_worker_count(unlimited.path()).reason == "4 CPUs are allowed, and no cgroup limits the CPU time");
  const scratch_folder nothing;
  const one_cpu restriction;
  if (!restriction.narrowed()) {
    MESSAGE("left out: no thread may be bound here");
    return;
  }
  const auto restricted = default_worker_count(nothing.path());
  CHECK(restricted.allowed_cpus == 1);
  CHECK(restricted.workers == 1);
  CHECK(restricted.reason == "1 CPU is allowed, and no cgroup limits the CPU time");
}

TEST_CASE("the cpuset of the cgroup counts like the mask") {
  const workers_variable nobody_says(nullptr);
  const tree files("0::/app\n");
  files.write("sys/fs/cgroup/app/cpuset.cpus.effective", "1,3,5\n");
  CHECK(default_worker_count(files.path()).workers == 2);
}

TEST_CASE("the reason names the quota and the file that says it") {
  const workers_variable nobody_says(nullptr);
  const tree files("0::/app/inner\n");
  files.limit_v2("/app", "150000 100000\n");
  const auto count = default_worker_count(files.path());
  REQUIRE(count.quota);
  CHECK(count.quota->cpus == 1.5);
  CHECK_FALSE(count.environment.has_value());
  CHECK(count.reason == "4 CPUs are allowed, /sys/fs/cgroup/app/cpu.max grants the CPU time of 1.5");
}

TEST_CASE("BRAID_WORKERS is obeyed from 1 to 4096, beyond CPUs and quota") {
  const tree files("0::/app\n");
  files.limit_v2("/app", "100000 100000\n");
  for (const unsigned wanted : {1U, 3U, 4096U}) {
    const workers_variable says(std::to_string(wanted).c_str());
    const auto count = default_worker_count(files.path());
    CHECK(count.workers == wanted);
    CHECK(count.environment == wanted);
    CHECK(count.reason == "BRAID_WORKERS says " + std::to_string(wanted));
  }
}

TEST_CASE("BRAID_WORKERS that is no number from 1 to 4096 is ignored, and the reason names it") {
  const tree files("0::/app\n");
  files.limit_v2("/app", "100000 100000\n");
  for (const char* text : {"", "0", "-1", "4097", "two", "2 ", " 2", "2x", "0x2", "1.5", "99999999999999999999"}) {
    CAPTURE(text);
    const workers_variable says(text);
    const auto count = default_worker_count(files.path());
    CHECK_FALSE(count.environment.has_value());
    CHECK(count.workers == 1);
    CHECK(count.reason ==
          "4 CPUs are allowed, /sys/fs/cgroup/app/cpu.max grants the CPU time of 1; BRAID_WORKERS is ignored: \"" +
              std::string(text) + "\" is not a number from 1 to 4096");
  }
}

TEST_CASE("a BRAID_WORKERS that no terminal should see is shown short and plain") {
  const tree files("");
  const workers_variable says(("\x1b[2J\n" + std::string(100, 'x')).c_str());
  const auto count = default_worker_count(files.path());
  CHECK(count.reason.ends_with("ignored: \"?[2J?" + std::string(35, 'x') + "...\" is not a number from 1 to 4096"));
}

TEST_CASE("a real quota of half a CPU leaves one worker") {
  const workers_variable nobody_says(nullptr);
  const auto group = half_a_cpu();
  if (!group) {
    MESSAGE("left out: no cgroup with a quota can be made here");
    return;
  }
  const auto end = braid::testing::run_in_child([&] { count_inside(*group); });
  if (end.status == 77) {
    MESSAGE("left out: no process may be moved into a cgroup here");
    return;
  }
  CAPTURE(end.errors);
  CHECK(end.status == 0);
}

TEST_CASE("on this machine there is at least one worker, with a reason") {
  const auto count = default_worker_count();
  CHECK(count.workers >= 1);
  CHECK_FALSE(count.reason.empty());
}
