// src/thread/allowed_cpus.cpp: finds the CPUs that the affinity mask, the cpuset and the list of online CPUs allow.
#include <braid/thread/detail/allowed_cpus.hpp>
#include <braid/thread/cgroup.hpp>
#include <braid/thread/detail/system_file.hpp>

#include "thread_calls.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace braid::detail {
namespace {

namespace fs = std::filesystem;

/// A set of CPUs with the name of its source.
struct named_set {
  cpu_set cpus;
  std::string name;
};

/// Returns the affinity mask of the first thread. New threads and child processes inherit this mask.
auto mask_of_this_process() -> cpu_set {
  if (auto mask = detail::read_process_affinity(); mask && !mask->empty()) return *std::move(mask);
  return cpu_set::range(0, std::clamp(std::thread::hardware_concurrency(), 1U, cpu_set::limit) - 1);
}

auto mask_in_status(const fs::path& root) -> std::optional<cpu_set> {
  constexpr std::string_view label = "Cpus_allowed_list:";
  const std::string text = detail::read_system_file(root / "proc/self/status").value_or("");
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = detail::take_until(rest, '\n');
    if (!line.starts_with(label)) continue;
    auto mask = cpu_set::parse(line.substr(label.size()));
    return mask && !mask->empty() ? std::optional(*std::move(mask)) : std::nullopt;
  }
  return std::nullopt;
}

/// Returns every set of CPUs that limits this process. The affinity mask is the first set.
auto read_limits(const fs::path& root) -> std::vector<named_set> {
  std::vector<named_set> limits;
  if (detail::is_this_machine(root))
    limits.push_back({mask_of_this_process(), "affinity mask"});
  else if (auto mask = mask_in_status(root))
    limits.push_back({*std::move(mask), "affinity mask"});
  if (auto group = cgroup::allowed_cpus(root.string()))
    limits.push_back({std::move(group->cpus), "cpuset of " + group->file});
  if (auto online = detail::cpus_in(root / "sys/devices/system/cpu/online"))
    limits.push_back({*std::move(online), "online CPUs"});
  if (limits.empty()) limits.push_back({mask_of_this_process(), "affinity mask of this process"});
  return limits;
}

}  // namespace

auto read_allowed_cpus(const std::string& root) -> allowed_cpus {
  std::vector<named_set> limits = read_limits(root);
  allowed_cpus allowed{limits.front().cpus, {}};
  for (const named_set& limit : limits) {
    const cpu_set both = allowed.cpus & limit.cpus;
    if (!allowed.reason.empty()) allowed.reason += ", ";
    allowed.reason += limit.name + " " + limit.cpus.to_string();
    if (both.empty())
      allowed.reason += " (ignored: no CPU would be left)";
    else
      allowed.cpus = both;
  }
  return allowed;
}

}  // namespace braid::detail
