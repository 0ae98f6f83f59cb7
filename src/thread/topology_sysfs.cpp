// src/thread/topology_sysfs.cpp: reads the topology from /sys/devices/system.
#include <braid/thread/detail/system_file.hpp>
#include <braid/thread/detail/topology_draft.hpp>

#include <braid/base/detail/number_in.hpp>

#include <string_view>
#include <utility>

namespace braid::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* cpu_folder = "sys/devices/system/cpu";
constexpr const char* node_folder = "sys/devices/system/node";

/// The maximum number of caches that are read for each CPU. The kernel numbers the caches of a CPU without gaps.
constexpr int max_caches = 16;

auto numbered(const fs::path& folder, std::string_view name, unsigned number) -> fs::path {
  return folder / (std::string(name) + std::to_string(number));
}

/// Returns the CPUs listed in the file `newer`, which newer kernels have, or else in the file `older`.
auto cpus_in_either(const fs::path& newer, const fs::path& older) -> cpu_set {
  auto cpus = cpus_in(newer);
  return (cpus ? cpus : cpus_in(older)).value_or(cpu_set());
}

void add_caches(const fs::path& folder, cpu_claim& claim) {
  for (int at = 0; at < max_caches; ++at) {
    const fs::path cache = folder / ("index" + std::to_string(at));
    const std::string level = read_first_line(cache / "level");
    if (level.empty()) return;
    if ((level != "2" && level != "3") || read_first_line(cache / "type") == "Instruction") continue;
    (level == "2" ? claim.l2 : claim.l3) = cpus_in(cache / "shared_cpu_list").value_or(cpu_set());
  }
}

auto claim_in(const fs::path& folder) -> cpu_claim {
  const fs::path facts = folder / "topology";
  cpu_claim claim;
  claim.package = number_in<unsigned>(read_first_line(facts / "physical_package_id"));
  claim.core = cpus_in_either(facts / "core_cpus_list", facts / "thread_siblings_list");
  add_caches(folder / "cache", claim);
  return claim;
}

/// Reads the capacity of every CPU from `file`. If the capacity of any CPU is missing, stores nothing and returns
/// false.
auto add_capacities_from(const fs::path& root, const char* file, topology_draft& draft) -> bool {
  std::map<unsigned, unsigned long> found;
  for (const unsigned cpu : draft.online) {
    const auto number = number_in<unsigned long>(read_first_line(numbered(root / cpu_folder, "cpu", cpu) / file));
    if (!number || *number == 0) return false;
    found[cpu] = *number;
  }
  for (const auto& [cpu, number] : found) draft.cpus[cpu].capacity = number;
  return true;
}

auto distances_in(const fs::path& file) -> std::vector<unsigned> {
  const std::string line = read_first_line(file);
  std::vector<unsigned> row;
  for (std::string_view rest = line; !rest.empty();) {
    const auto distance = number_in<unsigned>(take_until(rest, ' '));
    if (!distance) return {};
    row.push_back(*distance);
  }
  return row;
}

}  // namespace

auto draft_from_sysfs(const fs::path& root) -> topology_draft {
  topology_draft draft;
  auto online = cpus_in(root / cpu_folder / "online");
  if (!online) {
    draft.reason = "/" + std::string(cpu_folder) + "/online lists no CPU";
    return draft;
  }
  draft.source = topology_source::sysfs;
  draft.reason = "read from /sys/devices/system";
  draft.online = *std::move(online);
  for (const unsigned cpu : draft.online) draft.cpus[cpu] = claim_in(numbered(root / cpu_folder, "cpu", cpu));

  const cpu_set nodes = cpus_in(root / node_folder / "online").value_or(cpu_set());  // a list in the same format
  for (const unsigned id : nodes) {
    const fs::path folder = numbered(root / node_folder, "node", id);
    draft.nodes.push_back({id, cpus_in(folder / "cpulist").value_or(cpu_set()), {}});
  }
  return draft;
}

void add_capacities(const fs::path& root, topology_draft& draft) {
  if (!add_capacities_from(root, "cpu_capacity", draft)) add_capacities_from(root, "cpufreq/cpuinfo_max_freq", draft);
}

void add_distances(const fs::path& root, topology_draft& draft) {
  for (topology::node& node : draft.nodes)
    node.distances = distances_in(numbered(root / node_folder, "node", node.id) / "distance");
}

}  // namespace braid::detail
