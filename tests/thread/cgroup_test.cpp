// tests/thread/cgroup_test.cpp: quotas and cpusets of cgroups in every shape, and threads that enter a cgroup.
#include <braid/thread/cgroup.hpp>

#include <doctest/doctest.h>

#include <tests/support/cgroup_tree.hpp>
#include <tests/support/child.hpp>
#include <tests/support/real_cgroup.hpp>
#include <tests/support/scratch_folder.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

using braid::cgroup;
using braid::cpu_set;
using braid::testing::cgroup_tree;
using braid::testing::real_cgroup;
using braid::testing::run_in_child;
using braid::testing::scratch_folder;

namespace {

namespace fs = std::filesystem;

/// A tree of files as a process sees it, with the given /proc/self/cgroup.
struct tree : cgroup_tree {
  using cgroup_tree::cgroup_tree;

  void mounts(std::string_view text) const { write("proc/self/mountinfo", text); }
  [[nodiscard]] auto quota() const -> std::optional<double> {
    const auto quota = cgroup::cpu_quota(path());
    return quota ? std::optional(quota->cpus) : std::nullopt;
  }
  [[nodiscard]] auto quota_file() const -> std::string { return cgroup::cpu_quota(path()).value().file; }
};

auto text_of(const fs::path& file) -> std::string {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

auto own_thread() -> ::pid_t { return static_cast<::pid_t>(::syscall(SYS_gettid)); }

/// Whether the kernel counts the thread to the cgroup.
auto is_in(const real_cgroup& group, ::pid_t thread) -> bool {
  const std::string text = text_of("/proc/self/task/" + std::to_string(thread) + "/cgroup");
  return text.find("/" + group.path().filename().string() + "\n") != std::string::npos;
}

/// In a child: the calling thread enters the cgroup, another thread of the process does not. The status says what
/// failed.
void enter_alone(const real_cgroup& group) {
  ::pid_t other = 0;
  bool other_is_in = true;
  std::thread outside([&] {
    other = own_thread();
    if (const auto done = braid::cgroup::attach(group.path(), ::getpid()); !done) {
      std::fprintf(stderr, "%s", done.error().message().c_str());
      ::_exit(2);
    }
    other_is_in = is_in(group, other);
  });
  outside.join();
  ::_exit(!is_in(group, ::getpid()) ? 3 : other_is_in ? 4 : 0);
}

/// What is under test here needs a folder in which a cgroup may be made.
auto first_cgroup(const std::vector<const char*>& parents, const char* needed) -> std::unique_ptr<real_cgroup> {
  for (const char* parent : parents)
    if (auto group = real_cgroup::make(parent, needed)) return group;
  return nullptr;
}

auto threaded_v2() -> std::unique_ptr<real_cgroup> {
  auto group = first_cgroup({"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}, "cgroup.type");
  return group && group->write("cgroup.type", "threaded") ? std::move(group) : nullptr;
}

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
  CHECK_FALSE(cgroup::cpu_quota(nothing.path()).has_value());
}

TEST_CASE("one file that makes no sense does not hide the others") {
  const tree files("garbage\n0::/a/b\n");
  files.limit_v2("/a/b", "what?\n");
  files.limit_v2("/a", "50000 100000\n");
  CHECK(files.quota() == 0.5);
}

TEST_CASE("the quota names the file that says it, as the process sees it") {
  const tree files("5:cpu:/old\n0::/a/b\n");
  files.limit_v2("/a", "300000 100000\n");
  files.limit_v2("/a/b", "400000 100000\n");
  files.limit_v1("/cpu/old", "350000\n", "100000\n");
  CHECK(files.quota_file() == "/sys/fs/cgroup/a/cpu.max");
  const auto all = braid::cgroup::cpu_quotas(files.path());
  REQUIRE(all.size() == 3);
  CHECK(all[0].file == "/sys/fs/cgroup/cpu/old/cpu.cfs_quota_us");
  CHECK(all[1].file == "/sys/fs/cgroup/a/b/cpu.max");
  CHECK(all[1].cpus == 4.0);
  CHECK(all[2].cpus == 3.0);
}

TEST_CASE("a container sees its cgroup as the top of the mount") {
  const tree files("0::/docker/abc/inner\n");
  files.mounts("30 25 0:26 /docker/abc /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n");
  files.limit_v2("", "200000 100000\n");
  files.limit_v2("/inner", "max 100000\n");
  files.limit_v2("/docker/abc", "1000 100000\n");
  CHECK(files.quota() == 2.0);
  files.limit_v2("/inner", "150000 100000\n");
  CHECK(files.quota_file() == "/sys/fs/cgroup/inner/cpu.max");
}

TEST_CASE("version 1 is mounted anywhere, and the mount that shows the cgroup counts") {
  const tree files("3:cpuset:/box\n2:cpu,cpuacct:/box/one\n");
  files.mounts(
      "31 25 0:27 / /groups/with\\040space rw - cgroup cgroup rw,cpu,cpuacct\n"
      "32 25 0:28 / /groups/set rw shared:9 master:2 - cgroup none rw,cpuset\n");
  files.write("groups/with space/box/cpu.cfs_quota_us", "250000\n");
  files.write("groups/with space/box/cpu.cfs_period_us", "50000\n");
  files.write("groups/set/box/cpuset.cpus", "1-2\n");
  CHECK(files.quota() == 5.0);
  CHECK(files.quota_file() == "/groups/with space/box/cpu.cfs_quota_us");
  CHECK(cgroup::allowed_cpus(files.path()).value().cpus == cpu_set{1, 2});
}

TEST_CASE("a mount that shows another part of the hierarchy counts only where no other does") {
  const tree files("0::/box\n");
  const std::string other = "31 25 0:27 /elsewhere /first rw - cgroup2 cgroup rw\n";
  files.write("first/cpu.max", "100000 100000\n");
  files.write("second/box/cpu.max", "300000 100000\n");
  files.mounts(other + "32 25 0:27 / /second rw - cgroup2 cgroup rw\n");
  CHECK(files.quota() == 3.0);
  files.mounts(other);
  CHECK(files.quota() == 1.0);
}

TEST_CASE("of several mounts that show other parts of the hierarchy the first counts") {
  const tree files("0::/box\n");
  files.write("first/cpu.max", "100000 100000\n");
  files.write("second/cpu.max", "200000 100000\n");
  files.write("third/cpu.max", "300000 100000\n");
  files.mounts(
      "31 25 0:27 /a /first rw - cgroup2 cgroup rw\n"
      "32 25 0:27 /b /second rw - cgroup2 cgroup rw\n"
      "33 25 0:27 /c /third rw - cgroup2 cgroup rw\n");
  CHECK(files.quota() == 1.0);
}

TEST_CASE("a path that leads out of the mount is not followed") {
  const tree files("0::/../../outside\n");
  files.mounts("31 25 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
  files.write("sys/outside/cpu.max", "100000 100000\n");
  CHECK_FALSE(files.quota());
  files.limit_v2("", "200000 100000\n");
  CHECK(files.quota() == 2.0);
}

TEST_CASE("mounts that make no sense leave the usual places") {
  const tree files("0::/app\n");
  files.limit_v2("/app", "200000 100000\n");
  for (const char* text : {"", "\n", "-", " - ", " - cgroup2", "1 2 3 4 5 - cgroup2 x y",
                           "1 2 3 / relative - cgroup2 x y", "1 2 3 / - cgroup2", "\xff - cgroup2 \xff \xff"}) {
    CAPTURE(text);
    files.mounts(text);
    CHECK(files.quota() == 2.0);
  }
  files.write("proc/self/cgroup", "0::/" + std::string(60'000, 'a') + "\n0::/app\n");
  CHECK(files.quota() == 2.0);
}

TEST_CASE("the effective cpuset is that of the nearest cgroup that has one") {
  const tree v2("0::/a/b\n");
  CHECK_FALSE(cgroup::allowed_cpus(v2.path()));
  v2.write("sys/fs/cgroup/cpuset.cpus.effective", "0-7\n");
  v2.write("sys/fs/cgroup/a/cpuset.cpus.effective", "2-3\n");
  v2.write("sys/fs/cgroup/a/b/cpuset.cpus.effective", "\n");
  v2.write("sys/fs/cgroup/a/b/cpuset.cpus", "9\n");
  const auto found = cgroup::allowed_cpus(v2.path());
  REQUIRE(found);
  CHECK(found->cpus == cpu_set{2, 3});
  CHECK(found->file == "/sys/fs/cgroup/a/cpuset.cpus.effective");

  const tree v1("7:cpuset:/app\n");
  v1.write("sys/fs/cgroup/cpuset/app/cpuset.cpus", "0-7\n");
  CHECK(cgroup::allowed_cpus(v1.path()).value().cpus == cpu_set::range(0, 7));
  v1.write("sys/fs/cgroup/cpuset/app/cpuset.effective_cpus", "4\n");
  CHECK(cgroup::allowed_cpus(v1.path()).value().cpus == cpu_set{4});
}

TEST_CASE("a folder that is no cgroup is refused, and nothing is created or written in it") {
  const scratch_folder plain;
  CHECK(braid::this_thread::attach_to_cgroup(plain.path()).error() == std::errc::invalid_argument);
  CHECK(fs::is_empty(plain.path()));
  for (const char* name : {"cgroup.threads", "cgroup.procs", "tasks"}) plain.write(name, "");
  CHECK(braid::this_thread::attach_to_cgroup(plain.path()).error() == std::errc::invalid_argument);
  for (const char* name : {"cgroup.threads", "cgroup.procs", "tasks"}) CHECK(fs::is_empty(plain.path() / name));
  CHECK(braid::this_thread::attach_to_cgroup("/proc/self").error() == std::errc::invalid_argument);
}

TEST_CASE("what is not there, is no folder, or is no thread is refused with the system's code") {
  const scratch_folder plain;
  CHECK(braid::this_thread::attach_to_cgroup(plain.path() / "missing").error() == std::errc::no_such_file_or_directory);
  CHECK_FALSE(fs::exists(plain.path() / "missing"));
  CHECK(braid::this_thread::attach_to_cgroup(plain.write("file", "")).error() == std::errc::not_a_directory);
  CHECK(braid::cgroup::attach(plain.path(), 0).error() == std::errc::invalid_argument);
  CHECK(braid::cgroup::attach(plain.path(), -5).error() == std::errc::invalid_argument);
}

TEST_CASE("version 1: one thread enters the cgroup, the others of its process do not") {
  const auto group = first_cgroup({"/sys/fs/cgroup/freezer", "/sys/fs/cgroup/cpu"}, "tasks");
  if (!group) {
    MESSAGE("left out: no cgroup of version 1 can be made here");
    return;
  }
  const auto end = run_in_child([&] { enter_alone(*group); });
  CAPTURE(end.errors);
  CHECK(end.status == 0);
  CHECK(braid::cgroup::attach(group->path(), 0x3fff'ffff).error() == std::errc::no_such_process);
}

TEST_CASE("version 2: one thread enters a threaded cgroup, the others of its process do not") {
  const auto group = threaded_v2();
  if (!group) {
    MESSAGE("left out: no threaded cgroup of version 2 can be made here");
    return;
  }
  const auto end = run_in_child([&] { enter_alone(*group); });
  if (end.status == 2 && end.errors == std::make_error_code(std::errc::operation_not_supported).message()) {
    MESSAGE("left out: this process is in a cgroup whose threads may not be parted");
    return;
  }
  CAPTURE(end.errors);
  CHECK(end.status == 0);
}

TEST_CASE("version 2: a cgroup for whole processes is refused by the system, with its code") {
  const auto group = first_cgroup({"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}, "cgroup.type");
  if (!group) {
    MESSAGE("left out: no cgroup of version 2 can be made here");
    return;
  }
  const auto end = run_in_child([&] { enter_alone(*group); });
  CHECK(end.status == 2);
  CHECK_FALSE(end.errors.empty());
  CHECK(text_of(group->path() / "cgroup.procs").empty());
}

TEST_CASE("on this machine quota and cpuset are read without diagnostic") {
  const auto quota = cgroup::cpu_quota();
  if (quota) CHECK((quota->cpus > 0 && fs::exists(quota->file)));
  const auto cpus = cgroup::allowed_cpus();
  if (cpus) CHECK((!cpus->cpus.empty() && fs::exists(cpus->file)));
}
