// doctor/text.cpp: prints the findings as text for people.
#include <doctor/print.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace braid::doctor {
namespace {

using row = std::vector<std::string>;

/// Replaces control characters, which could move a terminal's cursor, by `?`.
auto plain(std::string text) -> std::string {
  std::ranges::replace_if(text, [](char each) { return (each >= 0 && each < ' ') || each == '\x7f'; }, '?');
  return text;
}

auto shortest(double number) -> std::string {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

/// Formats rows as indented lines. Each column is as wide as its widest cell.
auto table(const std::vector<row>& rows) -> std::string {
  std::vector<std::size_t> widths;
  for (const row& cells : rows) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (std::size_t at = 0; at < cells.size(); ++at) widths[at] = std::max(widths[at], cells[at].size());
  }
  std::string text;
  for (const row& cells : rows) {
    std::string line = " ";
    for (std::size_t at = 0; at < cells.size(); ++at)
      line += " " + cells[at] + std::string(widths[at] - cells[at].size() + 1, ' ');
    text += plain(line.substr(0, line.find_last_not_of(' ') + 1)) + "\n";
  }
  return text;
}

auto or_dash(std::string text) -> std::string { return text.empty() ? "-" : std::move(text); }

/// Formats the cores of a machine. Cores of one kind with the same package, node and cache share a line.
auto core_rows(const topology& machine) -> std::vector<row> {
  using where = std::tuple<unsigned, unsigned, std::optional<unsigned>, topology::core_kind>;
  std::map<where, std::pair<std::size_t, cpu_set>> groups;
  for (const topology::core& core : machine.cores) {
    const topology::location& location = *machine.location_of(*core.cpus.first());
    auto& [cores, cpus] = groups[{location.package, location.node, location.l3, core.kind}];
    ++cores;
    cpus |= core.cpus;
  }
  std::vector<row> rows{{"package", "node", "L3", "kind", "cores", "CPUs", "allowed"}};
  for (const auto& [where_it_is, group] : groups) {
    const auto& [package, node, l3, kind] = where_it_is;
    const auto& [cores, cpus] = group;
    rows.push_back({std::to_string(machine.packages[package].id), std::to_string(machine.nodes[node].id),
                    l3 ? std::to_string(*l3) : "-", name_of(kind), std::to_string(cores), cpus.to_string(),
                    or_dash((cpus & machine.allowed).to_string())});
  }
  return rows;
}

auto node_rows(const topology& machine) -> std::vector<row> {
  std::vector<row> rows{{"node", "CPUs", "distances"}};
  for (const topology::node& node : machine.nodes) {
    std::string distances;
    for (const unsigned distance : node.distances)
      distances += (distances.empty() ? "" : " ") + std::to_string(distance);
    rows.push_back({std::to_string(node.id), or_dash(node.cpus.to_string()), distances});
  }
  return rows;
}

auto machine_text(const topology& machine) -> std::string {
  const auto counted = [](const cpu_set& cpus) { return std::to_string(cpus.size()) + ": " + cpus.to_string(); };
  return "CPUs\n" +
         table({{"source", name_of(machine.source) + std::string(" (") + machine.reason + ")"},
                {"online", counted(machine.online)},
                {"allowed", counted(machine.allowed) + " (" + machine.allowed_reason + ")"}}) +
         "\n" + table(core_rows(machine)) + "\n" + table(node_rows(machine));
}

auto limits_text(const findings& found) -> std::string {
  std::vector<row> rows;
  for (const cgroup::quota& quota : found.quotas)
    rows.push_back({"quota", "the time of " + shortest(quota.cpus) + " CPUs", quota.file});
  if (found.cpuset) rows.push_back({"cpuset", found.cpuset->cpus.to_string(), found.cpuset->file});
  if (rows.empty()) rows.push_back({"none"});
  return "\nLimits of cgroups\n" + table(rows);
}

auto workers_text(const worker_count& count) -> std::string {
  return "\nWorkers of a pool\n" + table({{std::to_string(count.workers), count.reason}});
}

auto environment_text(const std::vector<variable>& variables) -> std::string {
  std::vector<row> rows;
  for (const variable& each : variables) rows.push_back({each.name, "\"" + each.value + "\"", each.verdict});
  if (rows.empty()) rows.push_back({"no variable BRAID_* is set"});
  return "\nEnvironment\n" + table(rows);
}

auto user_text(const rights& user) -> std::string {
  std::vector<row> rows;
  for (const attempt& each : user.attempts)
    rows.push_back({each.what, each.result ? "refused: " + each.result.message() : "allowed"});
  rows.push_back({"backend of event loops (BRAID_IO)", user.loops});
  rows.push_back({"barrier of the workers (BRAID_BARRIER)", user.barrier});
  rows.push_back({"highest real-time priority (RLIMIT_RTPRIO)", user.rtprio});
  rows.push_back({"lowest nice value (RLIMIT_NICE)", user.nice});
  rows.push_back({"may exceed both limits (CAP_SYS_NICE)", user.cap_nice});
  return "\nWhat this user may do\n" + table(rows);
}

auto build_text(const build_facts& build) -> std::string {
  return table({{"compiler", build.compiler},
                {"library", build.library},
                {"costly checks", build.checks},
                {"sanitizer", build.sanitizer},
                {"hwloc", build.hwloc},
                {"fibers", build.fibers}}) +
         "\n";
}

}  // namespace

auto name_of(topology::core_kind kind) -> const char* {
  switch (kind) {
    case topology::core_kind::performance: return "performance";
    case topology::core_kind::efficiency: return "efficiency";
    case topology::core_kind::alike: break;
  }
  return "alike";
}

auto name_of(topology_source source) -> const char* {
  switch (source) {
    case topology_source::hwloc: return "hwloc";
    case topology_source::sysfs: return "sysfs";
    case topology_source::windows: return "windows";
    case topology_source::nothing: break;
  }
  return "nothing";
}

auto to_text(const findings& found) -> std::string {
  std::string text = "braid " BRAID_VERSION "\n";
  if (found.build) text += build_text(*found.build);
  text += machine_text(found.machine) + limits_text(found) + workers_text(found.workers) +
          environment_text(found.environment);
  if (found.user) text += user_text(*found.user);
  return text;
}

}  // namespace braid::doctor
