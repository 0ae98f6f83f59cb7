// rankd/cli/checks/system_checks.cpp: checks the limits of the process, the features of the kernel, and the clock for
// rankd doctor.
#include <rankd/cli/checks/checkup.hpp>
#include <rankd/registry/counted.hpp>

#include <braid/base/clock.hpp>
#include <braid/io/backend.hpp>
#include <braid/thread/cgroup.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/resource.h>
#include <sys/utsname.h>

namespace rankd {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

auto text_in(const fs::path& file) -> std::string {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

/// Returns the number at the beginning of a text, or nothing if there is no number, as in the value `max`.
auto leading_number(std::string_view text) -> std::optional<std::uint64_t> {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

auto spelled_bytes(std::uint64_t bytes) -> std::string { return std::to_string(bytes / mib) + " MiB"; }

void check_descriptors(checkup& checkup) {
  constexpr ::rlim_t few = 1024;
  ::rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur == RLIM_INFINITY) return checkup.ok("descriptors", "any number of descriptors may be open");
  const std::string found = std::to_string(limit.rlim_cur) + " descriptors may be open at once";
  if (limit.rlim_cur >= few) return checkup.ok("descriptors", found);
  checkup.warn(
      "descriptors", found,
      "raise the limit (ulimit -n) to at least " + std::to_string(few) + ": each connection needs a descriptor");
}

auto available_memory(const fs::path& root) -> std::optional<std::uint64_t> {
  constexpr std::string_view label = "MemAvailable:";
  const std::string text = text_in(root / "proc/meminfo");
  const std::size_t at = text.find(label);
  if (at == std::string::npos) return std::nullopt;
  const auto kib = leading_number(std::string_view(text).substr(at + label.size()));
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

/// Returns the folders of this process's cgroup (version 2) and of its parents, with the paths that are visible to the
/// process.
auto cgroup_folders(const fs::path& root) -> std::vector<fs::path> {
  const std::string text = text_in(root / "proc/self/cgroup");
  const fs::path top = root / "sys/fs/cgroup";
  std::vector<fs::path> folders{top};
  const std::size_t at = text.starts_with("0::") ? 0 : text.find("\n0::");
  if (at == std::string::npos) return folders;
  std::string group = text.substr(text.find("::", at) + 2);
  group.resize(std::min(group.find('\n'), group.size()));
  fs::path folder = top;
  for (const fs::path& part : fs::path(group).relative_path()) folders.push_back(folder /= part);
  return folders;
}

/// Returns the smallest amount of memory that any cgroup of the process has left.
auto cgroup_memory_left(const fs::path& root) -> std::optional<std::uint64_t> {
  std::optional<std::uint64_t> smallest;
  for (const fs::path& folder : cgroup_folders(root)) {
    const auto limit = leading_number(text_in(folder / "memory.max"));
    const auto used = leading_number(text_in(folder / "memory.current"));
    if (!limit || !used) continue;
    const std::uint64_t left = *limit > *used ? *limit - *used : 0;
    smallest = smallest ? std::min(*smallest, left) : left;
  }
  return smallest;
}

void check_memory(const fs::path& root, checkup& checkup) {
  constexpr std::uint64_t little = 256 * mib;
  const auto available = available_memory(root);
  const auto granted = cgroup_memory_left(root);
  if (!available && !granted)
    return checkup.warn("memory", "the amount of free memory is unknown", "allow rankd to read /proc/meminfo");
  const std::uint64_t left = std::min(available.value_or(UINT64_MAX), granted.value_or(UINT64_MAX));
  const std::string found = spelled_bytes(left) + " of memory are left" +
                            (granted && *granted == left ? " in this cgroup" : " on this machine");
  if (left >= little)
    checkup.ok("memory", found);
  else
    checkup.warn("memory", found, "allow more memory, or stop other programs: requests fail when memory runs out");

  ::rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    checkup.warn("memory", "the address space is limited to " + spelled_bytes(space.rlim_cur),
                 "remove the limit (ulimit -v unlimited): the store is mapped as a whole");
}

void check_kernel(const fs::path& root, checkup& checkup) {
  const braid::worker_count workers = braid::default_worker_count(root.string());
  checkup.ok("cpus", counted(workers.workers, "worker") + ": " + workers.reason);
  ::utsname system{};
  const std::string release = ::uname(&system) == 0 ? std::string(system.sysname) + " " + system.release : "unknown";
  const auto backend = braid::io_backend::make();
  if (!backend)
    return checkup.fail("kernel", release + ": no event loop can be created: " + backend.error().message(),
                        "correct BRAID_IO, or allow the epoll system calls");
  const std::string found = release + ": event loops use " + std::string((*backend)->name());
  if ((*backend)->name() == "poll")
    checkup.warn("kernel", found, "allow the system calls of io_uring or epoll: poll gets slower with each connection");
  else
    checkup.ok("kernel", found);
}

/// Measures the cost of reading the clock. Uses the shortest of several measurements, so that a preemption does not
/// affect the result.
auto cost_of_clock() -> braid::duration {
  braid::duration shortest = std::chrono::seconds(1);
  for (int tries = 0; tries < 50; ++tries) {
    constexpr int readings = 20;
    const braid::time_point begin = braid::steady_time().now();
    braid::time_point end = begin;
    for (int at = 0; at < readings; ++at) end = braid::steady_time().now();
    shortest = std::min(shortest, (end - begin) / readings);
  }
  return shortest;
}

void check_clock(const fs::path& root, checkup& checkup) {
  constexpr std::array<std::string_view, 3> slow_ones{"hpet", "acpi_pm", "jiffies"};
  std::string source = text_in(root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  source.resize(std::min(source.find('\n'), source.size()));
  const std::string found = "source " + (source.empty() ? "unknown" : source) + ", " +
                            std::to_string(cost_of_clock().count()) + " ns per reading";
  if (std::ranges::find(slow_ones, source) != slow_ones.end())
    checkup.warn(
        "clock", found,
        "let the kernel use the clock source tsc, or the one of the hypervisor: every deadline reads the clock");
  else
    checkup.ok("clock", found);
  const std::chrono::year_month_day today(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  if (today.year() < std::chrono::year(2024))
    checkup.warn("clock", "the clock is set to the year " + std::to_string(static_cast<int>(today.year())),
                 "set the time: certificates are checked against it");
}

}  // namespace

void check_system(const fs::path& root, checkup& checkup) {
  check_descriptors(checkup);
  check_memory(root, checkup);
  check_kernel(root, checkup);
  check_clock(root, checkup);
}

}  // namespace rankd
