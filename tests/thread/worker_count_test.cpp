// tests/thread/worker_count_test.cpp: quotas of cgroups in every shape, the affinity mask, and BRAID_WORKERS.
#include <braid/thread/worker_count.hpp>

#include <doctest/doctest.h>

#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <sched.h>

using braid::cgroup_cpu_quota;
using braid::default_worker_count;
using braid::testing::scratch_folder;

namespace {

/// A tree of files as a process sees it, with the given /proc/self/cgroup.
struct tree : scratch_folder {
  explicit tree(std::string_view memberships) { write("proc/self/cgroup", memberships); }

  void limit_v2(const std::string& group, std::string_view max) const {
    write("sys/fs/cgroup" + group + "/cpu.max", max);
  }
  void limit_v1(const std::string& group, std::string_view quota, std::string_view period) const {
    write("sys/fs/cgroup" + group + "/cpu.cfs_quota_us", quota);
    write("sys/fs/cgroup" + group + "/cpu.cfs_period_us", period);
  }

  [[nodiscard]] auto quota() const -> std::optional<double> { return cgroup_cpu_quota(path()); }
};

/// Sets BRAID_WORKERS, or unsets it, for as long as it lives.
class environment {
 public:
  explicit environment(const char* value) {
    if (const char* text = std::getenv(variable)) before_ = text;
    set(value);
  }
  environment(const environment&) = delete;
  auto operator=(const environment&) -> environment& = delete;
  ~environment() { set(before_ ? before_->c_str() : nullptr); }

 private:
  static constexpr const char* variable = "BRAID_WORKERS";

  static void set(const char* value) {
    if (value == nullptr)
      ::unsetenv(variable);
    else
      ::setenv(variable, value, 1);
  }

  std::optional<std::string> before_;
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
    ::sched_setaffinity(0, sizeof(one), &one);
  }
  one_cpu(const one_cpu&) = delete;
  auto operator=(const one_cpu&) -> one_cpu& = delete;
  ~one_cpu() { ::sched_setaffinity(0, sizeof(before_), &before_); }

 private:
  cpu_set_t before_{};
};

}  // namespace

TEST_CASE("version 2: the quota is the time over the period") {
  const tree files("0::/app\n");
  files.limit_v2("/app", "150000 100000\n");
  CHECK(files.quota() == 1.5);
}

TEST_CASE("version 2: the smallest quota of all parents counts, the root included") {
  const tree files("0::/a/b/c\n");
  files.limit_v2("/a/b/c", "400000 100000\n");
  files.limit_v2("/a/b", "max 100000\n");
  files.limit_v2("/a", "300000 100000\n");
  CHECK(files.quota() == 3.0);
  files.limit_v2("", "100000 50000\n");
  CHECK(files.quota() == 2.0);
  files.limit_v2("/a/other", "1000 100000\n");
  CHECK(files.quota() == 2.0);
}

TEST_CASE("version 2: max is no quota") {
  const tree files("0::/app\n");
  files.limit_v2("/app", "max 100000\n");
  CHECK_FALSE(files.quota().has_value());
}

TEST_CASE("version 1: quota and period are two files, and a negative quota is none") {
  const tree files("5:cpu,cpuacct:/app\n4:memory:/app\n");
  files.limit_v1("/cpu,cpuacct/app", "250000\n", "100000\n");
  CHECK(files.quota() == 2.5);
  files.limit_v1("/cpu,cpuacct/app", "-1\n", "100000\n");
  CHECK_FALSE(files.quota().has_value());
  files.limit_v1("/cpu,cpuacct", "50000\n", "100000\n");
  CHECK(files.quota() == 0.5);
}

TEST_CASE("version 1: the folder may be called cpu alone, and other controllers do not count") {
  const tree files("5:cpuacct,cpu:/app\n3:cpuset:/app\n1:name=systemd:/app\n");
  files.limit_v1("/cpuset/app", "1000\n", "100000\n");
  CHECK_FALSE(files.quota().has_value());
  files.limit_v1("/cpu/app", "200000\n", "100000\n");
  CHECK(files.quota() == 2.0);
}

TEST_CASE("version 1 in a container: the path of the host does not exist, the root of the mount counts") {
  const tree files("5:cpu,cpuacct:/docker/0123456789ab\n");
  files.limit_v1("/cpu,cpuacct", "150000\n", "100000\n");
  CHECK(files.quota() == 1.5);
}

TEST_CASE("mixed: version 2 lies below unified, and the smaller of both versions counts") {
  const tree files("5:cpu:/old\n0::/new\n");
  files.limit_v1("/cpu/old", "300000\n", "100000\n");
  CHECK(files.quota() == 3.0);
  files.limit_v2("/unified/new", "200000 100000\n");
  CHECK(files.quota() == 2.0);
}

TEST_CASE("files that make no sense, or are not there, are no quota") {
  const tree limited("0::/app\n");
  for (const std::string_view content :
       {"", "\n", "150000", "100000 ", " 100000 100000", "abc def", "1.5 1", "0 100000", "100000 0", "-100000 100000",
        "99999999999999999999 100000", "100000 100000 100000", "max", "\xff\xfe"}) {
    CAPTURE(content);
    limited.limit_v2("/app", content);
    CHECK_FALSE(limited.quota().has_value());
  }
  const tree unlimited("");
  for (const std::string_view memberships : {"", "\n", "0", "0:", "::", ":::::", "garbage", "5:cpu", "0::no/slash",
                                             "0::/../../..", "5:cpu:/../up", "5:,,cpu,,:", "0::\n0::\n"}) {
    CAPTURE(memberships);
    unlimited.write("proc/self/cgroup", memberships);
    CHECK_FALSE(unlimited.quota().has_value());
  }
  const scratch_folder nothing;
  CHECK_FALSE(cgroup_cpu_quota(nothing.path()).has_value());
}

TEST_CASE("one file that makes no sense does not hide the others") {
  const tree files("garbage\n0::/a/b\n");
  files.limit_v2("/a/b", "what?\n");
  files.limit_v2("/a", "50000 100000\n");
  CHECK(files.quota() == 0.5);
}

TEST_CASE("a quota is rounded up, to one worker at least and to the allowed CPUs at most") {
  const environment nobody_says(nullptr);
  const tree files("0::/app\n");
  files.limit_v2("/app", "1000 100000\n");
  CHECK(default_worker_count(files.path()).workers == 1);
  files.limit_v2("/app", "100001 100000\n");
  const auto count = default_worker_count(files.path());
  CHECK(count.workers == std::min(2U, count.allowed_cpus));
  files.limit_v2("/app", "100000 100000\n");
  CHECK(default_worker_count(files.path()).workers == 1);
  files.limit_v2("/app", "999999999999 100000\n");
  CHECK(default_worker_count(files.path()).workers == count.allowed_cpus);
}

TEST_CASE("without a quota every allowed CPU gets a worker") {
  const environment nobody_says(nullptr);
  const scratch_folder nothing;
  const auto count = default_worker_count(nothing.path());
  CHECK(count.allowed_cpus >= 1);
  CHECK(count.workers == count.allowed_cpus);
  const one_cpu restriction;
  const auto restricted = default_worker_count(nothing.path());
  CHECK(restricted.allowed_cpus == 1);
  CHECK(restricted.workers == 1);
  CHECK(restricted.reason == "the affinity mask allows 1 CPU, no cgroup limits them");
}

TEST_CASE("the reason names the quota") {
  const environment nobody_says(nullptr);
  const tree files("0::/app\n");
  files.limit_v2("/app", "150000 100000\n");
  const one_cpu restriction;
  const auto count = default_worker_count(files.path());
  CHECK(count.quota == 1.5);
  CHECK_FALSE(count.environment.has_value());
  CHECK(count.reason == "the affinity mask allows 1 CPU, the cgroup grants the time of 1.5");
}

TEST_CASE("BRAID_WORKERS is obeyed from 1 to 4096, beyond CPUs and quota") {
  const tree files("0::/app\n");
  files.limit_v2("/app", "100000 100000\n");
  for (const unsigned wanted : {1U, 3U, 4096U}) {
    const environment says(std::to_string(wanted).c_str());
    const auto count = default_worker_count(files.path());
    CHECK(count.workers == wanted);
    CHECK(count.environment == wanted);
    CHECK(count.reason == "BRAID_WORKERS says " + std::to_string(wanted));
  }
}

TEST_CASE("BRAID_WORKERS that is no number from 1 to 4096 is ignored") {
  const tree files("0::/app\n");
  files.limit_v2("/app", "100000 100000\n");
  for (const char* text : {"", "0", "-1", "4097", "two", "2 ", " 2", "2x", "0x2", "1.5", "99999999999999999999"}) {
    CAPTURE(text);
    const environment says(text);
    const auto count = default_worker_count(files.path());
    CHECK_FALSE(count.environment.has_value());
    CHECK(count.workers == 1);
  }
}

TEST_CASE("on this machine there is at least one worker, with a reason") {
  const auto count = default_worker_count();
  CHECK(count.workers >= 1);
  CHECK_FALSE(count.reason.empty());
}
