// src/thread/worker_count.cpp: affinity mask, quotas of cgroups, environment.
#include <braid/thread/worker_count.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>
#include <vector>

#include <sched.h>

namespace braid {
namespace {

namespace fs = std::filesystem;

auto first_line(const fs::path& file) -> std::string {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

template <typename T>
auto number(std::string_view text) -> std::optional<T> {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

auto ratio(std::string_view quota, std::string_view period) -> std::optional<double> {
  const auto granted = number<long long>(quota);
  const auto each = number<long long>(period);
  if (!granted || !each || *granted <= 0 || *each <= 0) return std::nullopt;
  return static_cast<double>(*granted) / static_cast<double>(*each);
}

/// cpu.max of cgroup v2: "max 100000" or "150000 100000".
auto quota_v2(const fs::path& folder) -> std::optional<double> {
  const std::string line = first_line(folder / "cpu.max");
  const auto space = line.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return ratio(std::string_view(line).substr(0, space), std::string_view(line).substr(space + 1));
}

auto quota_v1(const fs::path& folder) -> std::optional<double> {
  return ratio(first_line(folder / "cpu.cfs_quota_us"), first_line(folder / "cpu.cfs_period_us"));
}

auto smaller(std::optional<double> a, std::optional<double> b) -> std::optional<double> {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// The smallest quota of `mount/path` and its parents up to `mount`.
template <typename Read>
auto smallest_quota(const fs::path& mount, const fs::path& path, Read read) -> std::optional<double> {
  std::optional<double> smallest;
  fs::path at = path.relative_path();
  while (true) {
    smallest = smaller(smallest, read(mount / at));
    if (at.empty()) return smallest;
    at = at.parent_path();
  }
}

auto has_cpu_controller(std::string_view controllers) -> bool {
  while (!controllers.empty()) {
    const auto comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

/// One line of /proc/self/cgroup: `number:controllers:path`, without controllers for version 2.
auto quota_of_line(const fs::path& cgroups, std::string_view line) -> std::optional<double> {
  const auto first = line.find(':');
  const auto second = line.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const fs::path path = line.substr(second + 1);

  if (controllers.empty()) {
    // In a mixed set-up version 2 is mounted one level lower.
    return smaller(smallest_quota(cgroups, path, quota_v2), smallest_quota(cgroups / "unified", path, quota_v2));
  }
  if (!has_cpu_controller(controllers)) return std::nullopt;
  return smaller(smallest_quota(cgroups / controllers, path, quota_v1),
                 smallest_quota(cgroups / "cpu", path, quota_v1));
}

auto allowed_cpus() -> unsigned {
  for (std::size_t cpus = 1024; cpus <= (std::size_t{1} << 20U); cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(cpus);
    const int status = ::sched_getaffinity(0, size, set);
    const int count = status == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) return static_cast<unsigned>(count);
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

auto environment_workers() -> std::optional<unsigned> {
  const char* text = std::getenv("BRAID_WORKERS");
  if (text == nullptr) return std::nullopt;
  const auto count = number<unsigned>(text);
  if (!count || *count < 1 || *count > 4096) return std::nullopt;
  return count;
}

auto explain(const worker_count& count) -> std::string {
  if (count.environment) return "BRAID_WORKERS says " + std::to_string(*count.environment);
  const std::string cpus = std::to_string(count.allowed_cpus) + (count.allowed_cpus == 1 ? " CPU" : " CPUs");
  if (!count.quota) return "the affinity mask allows " + cpus + ", no cgroup limits them";
  std::array<char, 32> quota{};
  const auto end = std::to_chars(quota.begin(), quota.end(), *count.quota).ptr;
  return "the affinity mask allows " + cpus + ", the cgroup grants the time of " + std::string(quota.begin(), end);
}

}  // namespace

auto cgroup_cpu_quota(const fs::path& root) -> std::optional<double> {
  std::ifstream in(root / "proc/self/cgroup");
  std::optional<double> smallest;
  for (std::string line; std::getline(in, line);)
    smallest = smaller(smallest, quota_of_line(root / "sys/fs/cgroup", line));
  return smallest;
}

auto default_worker_count(const fs::path& root) -> worker_count {
  worker_count count;
  count.allowed_cpus = allowed_cpus();
  count.quota = cgroup_cpu_quota(root);
  count.environment = environment_workers();
  if (count.environment) {
    count.workers = *count.environment;
  } else {
    const double granted = std::ceil(count.quota.value_or(count.allowed_cpus));
    count.workers = std::max(1U, static_cast<unsigned>(std::min<double>(granted, count.allowed_cpus)));
  }
  count.reason = explain(count);
  return count;
}

}  // namespace braid
