// src/thread/topology_draft.cpp: turns reported groups of CPUs into lists that contain every CPU exactly once.
#include <braid/thread/detail/topology_draft.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace braid::detail {
namespace {

/// The limit between two kinds of cores, as a fraction of the fastest core's capacity. Cores below this limit are
/// `efficiency` cores. The maximum clock rates of cores of the same kind differ by a few percent, and those of cores of
/// different kinds by a fifth or more.
constexpr double alike_from = 0.85;

/// The distances that the kernel assumes if the firmware reports no distances.
constexpr unsigned distance_to_itself = 10;
constexpr unsigned distance_to_others = 20;

/// A map from each CPU to the index of its group.
using positions = std::map<unsigned, unsigned>;

auto position_in(const positions& groups, unsigned cpu) -> std::optional<unsigned> {
  const auto found = groups.find(cpu);
  return found == groups.end() ? std::nullopt : std::optional(found->second);
}

class settlement {
 public:
  settlement(topology_draft draft, allowed_cpus allowed) : draft_(std::move(draft)) {
    made_.source = draft_.source;
    made_.online = draft_.online | allowed.cpus;
    made_.allowed = std::move(allowed.cpus);
    made_.allowed_reason = std::move(allowed.reason);
  }

  auto run() -> topology {
    place_packages();
    place_nodes();
    settle_distances();
    l3_of_ = place_caches(&cpu_claim::l3, made_.l3);
    l2_of_ = place_caches(&cpu_claim::l2, made_.l2);
    place_cores();
    for (const unsigned cpu : made_.online)
      made_.locations.push_back({cpu, package_of_.at(cpu), node_of_.at(cpu), core_of_.at(cpu), position_in(l2_of_, cpu),
                                 position_in(l3_of_, cpu)});
    name_kinds();
    made_.reason = std::move(draft_.reason);
    return std::move(made_);
  }

 private:
  [[nodiscard]] auto find_claim(unsigned cpu) const -> const cpu_claim& {
    static const cpu_claim none;
    const auto found = draft_.cpus.find(cpu);
    return found == draft_.cpus.end() ? none : found->second;
  }

  void note(const std::string& sentence) {
    if (draft_.source != topology_source::nothing) draft_.reason += "; " + sentence;
  }

  /// Returns the smallest package number that no CPU reports.
  [[nodiscard]] auto free_package() const -> unsigned {
    unsigned id = 0;
    const auto claimed = [&](const auto& each) { return each.second.package == id; };
    while (std::ranges::any_of(draft_.cpus, claimed)) ++id;
    return id;
  }

  /// Assigns each CPU to its package. All CPUs without a reported package are assigned to one additional package.
  void place_packages() {
    const unsigned unknown = free_package();
    std::map<unsigned, unsigned> position_of_id;
    std::size_t missing = 0;
    for (const unsigned cpu : made_.online) {
      const std::optional<unsigned> claimed = find_claim(cpu).package;
      if (!claimed) ++missing;
      const unsigned id = claimed.value_or(unknown);
      const auto [at, is_new] = position_of_id.try_emplace(id, static_cast<unsigned>(made_.packages.size()));
      if (is_new) made_.packages.push_back({id, {}});
      made_.packages[at->second].cpus.add(cpu);
      package_of_[cpu] = at->second;
    }
    if (missing != 0) note("the package of " + std::to_string(missing) + " CPUs is not known");
  }

  void place_nodes() {
    made_.nodes = std::move(draft_.nodes);
    std::ranges::sort(made_.nodes, {},
                      [](const topology::node& node) { return std::pair(node.id, node.cpus.first()); });
    const auto repeated = std::ranges::unique(made_.nodes, {}, &topology::node::id);
    made_.nodes.erase(repeated.begin(), repeated.end());
    if (made_.nodes.empty()) {
      made_.nodes.push_back({0, made_.online, {}});
      note("no memory node is reported");
    }
    cpu_set left = made_.online;
    for (topology::node& node : made_.nodes) {
      node.cpus &= left;
      left -= node.cpus;
    }
    if (!left.empty())
      note("CPUs " + left.to_string() + " belong to no memory node, and are assigned to the first memory node");
    made_.nodes.front().cpus |= left;
    for (unsigned at = 0; at < made_.nodes.size(); ++at)
      for (const unsigned cpu : made_.nodes[at].cpus) node_of_[cpu] = at;
  }

  void settle_distances() {
    bool known = true;
    for (std::size_t index = 0; index < made_.nodes.size(); ++index) {
      std::vector<unsigned>& row = made_.nodes[index].distances;
      if (row.size() == made_.nodes.size()) continue;
      known = false;
      row.assign(made_.nodes.size(), distance_to_others);
      row[index] = distance_to_itself;
    }
    if (!known && made_.nodes.size() > 1) note("distances between memory nodes are not known");
  }

  auto place_caches(cpu_set cpu_claim::* level, std::vector<cpu_set>& groups) -> positions {
    positions found;
    cpu_set left = made_.online;
    for (const unsigned cpu : made_.online) {
      if (found.contains(cpu) || (find_claim(cpu).*level).empty()) continue;
      cpu_set group = find_claim(cpu).*level & left;
      group.add(cpu);
      left -= group;
      for (const unsigned member : group) found[member] = static_cast<unsigned>(groups.size());
      groups.push_back(std::move(group));
    }
    return found;
  }

  [[nodiscard]] auto lie_together(unsigned a, unsigned b) const -> bool {
    return package_of_.at(a) == package_of_.at(b) && node_of_.at(a) == node_of_.at(b) &&
           position_in(l2_of_, a) == position_in(l2_of_, b) && position_in(l3_of_, a) == position_in(l3_of_, b);
  }

  /// Assigns each CPU to its core. CPUs share a core only if they also share package, node and caches.
  void place_cores() {
    std::size_t missing = 0;
    for (const unsigned cpu : made_.online) {
      if (core_of_.contains(cpu)) continue;
      if (find_claim(cpu).core.empty()) ++missing;
      topology::core core{{cpu}, topology::core_kind::alike};
      for (const unsigned other : find_claim(cpu).core & made_.online)
        if (!core_of_.contains(other) && lie_together(cpu, other)) core.cpus.add(other);
      for (const unsigned member : core.cpus) core_of_[member] = static_cast<unsigned>(made_.cores.size());
      made_.cores.push_back(std::move(core));
    }
    if (missing != 0) note("the core of " + std::to_string(missing) + " CPUs is not known");
  }

  /// Returns the capacity of a core's fastest CPU, or nothing if the capacity of any of its CPUs is unknown.
  [[nodiscard]] auto find_capacity(const topology::core& core) const -> std::optional<double> {
    double fastest = 0;
    for (const unsigned cpu : core.cpus) {
      const auto capacity = find_claim(cpu).capacity;
      if (!capacity) return std::nullopt;
      fastest = std::max(fastest, static_cast<double>(*capacity));
    }
    return fastest;
  }

  void name_kinds() {
    std::vector<double> capacities;
    for (const topology::core& core : made_.cores) {
      const auto capacity = find_capacity(core);
      if (!capacity) return;
      capacities.push_back(*capacity);
    }
    const double fastest = std::ranges::max(capacities);
    if (std::ranges::min(capacities) >= fastest * alike_from) return;
    for (std::size_t at = 0; at < made_.cores.size(); ++at)
      made_.cores[at].kind =
          capacities[at] < fastest * alike_from ? topology::core_kind::efficiency : topology::core_kind::performance;
  }

  topology_draft draft_;
  topology made_;
  positions package_of_;
  positions node_of_;
  positions core_of_;
  positions l2_of_;
  positions l3_of_;
};

}  // namespace

auto settle(topology_draft draft, allowed_cpus allowed) -> topology {
  return settlement(std::move(draft), std::move(allowed)).run();
}

}  // namespace braid::detail
