// tests/support/machine_tree.hpp: writes the files by which a kernel describes a machine, for machines that tests make
// up.
#pragma once

#include <braid/base/random.hpp>
#include <braid/thread/cpu_set.hpp>

#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace braid::testing {

/// One CPU of a machine. CPUs with the same number of a core or cache share it; -1: the files say nothing of it.
struct tree_cpu {
  unsigned cpu = 0;
  int package = 0;
  unsigned node = 0;
  int core = 0;
  int l2 = -1;
  int l3 = -1;
  unsigned capacity = 0;      ///< cpu_capacity; 0: no such file
  unsigned long max_khz = 0;  ///< cpufreq/cpuinfo_max_freq; 0: no such file
};

struct tree_node {
  unsigned id = 0;
  std::string distances;
};

struct tree_machine {
  std::vector<tree_cpu> cpus;
  std::vector<tree_node> nodes;  ///< none: the folder of the nodes is missing
};

/// What is written of a set of CPUs: a list is what braid reads, the kernel also gives masks.
enum class tree_files { lists, lists_and_masks };

/// Memory where the system has a folder for it: a machine is hundreds of files.
inline auto folder_in_memory() -> std::filesystem::path {
  constexpr const char* memory = "/dev/shm";
  return ::access(memory, W_OK | X_OK) == 0 ? std::filesystem::path(memory) : std::filesystem::temp_directory_path();
}

/// The form of the system's files with masks: groups of 32 bits, the highest first.
inline auto mask_of(const cpu_set& cpus) -> std::string {
  std::string text;
  const unsigned words = cpus.empty() ? 1 : (*std::ranges::max_element(cpus) / 32) + 1;
  for (unsigned word = words; word-- > 0;) {
    unsigned bits = 0;
    for (unsigned bit = 0; bit < 32; ++bit) bits |= (cpus.contains((word * 32) + bit) ? 1U : 0U) << bit;
    char part[16];
    std::snprintf(part, sizeof part, "%08x", bits);
    text += (text.empty() ? "" : ",") + std::string(part);
  }
  return text;
}

/// The files of one machine below a scratch folder.
class machine_tree : public scratch_folder {
 public:
  machine_tree() : scratch_folder(folder_in_memory()) {}
  explicit machine_tree(const tree_machine& machine, tree_files files = tree_files::lists)
      : scratch_folder(folder_in_memory()), files_(files) {
    write_machine(machine);
  }

  /// What /proc/self/status says of the affinity mask.
  void allow(const cpu_set& cpus) const {
    write("proc/self/status", "Name:\tprogram\nCpus_allowed:\tff\nCpus_allowed_list:\t" + cpus.to_string() + "\n");
  }

  void write_machine(const tree_machine& machine) const {
    cpu_set online;
    for (const tree_cpu& each : machine.cpus) online.add(each.cpu);
    write_line(cpus_ / "online", online.to_string());
    write_line(cpus_ / "possible", online.to_string());
    for (const tree_cpu& each : machine.cpus) write_cpu(machine, each);
    if (!machine.nodes.empty()) write_nodes(machine);
  }

 private:
  void write_line(const std::filesystem::path& name, std::string text) const { write(name, std::move(text) + "\n"); }

  void write_shared(const std::filesystem::path& list, const std::filesystem::path& mask, const cpu_set& set) const {
    write_line(list, set.to_string());
    if (files_ == tree_files::lists_and_masks) write_line(mask, mask_of(set));
  }

  static auto sharing(const tree_machine& machine, int tree_cpu::* what, int number) -> cpu_set {
    cpu_set cpus;
    for (const tree_cpu& each : machine.cpus)
      if (each.*what == number) cpus.add(each.cpu);
    return cpus;
  }

  void write_cpu(const tree_machine& machine, const tree_cpu& of) const {
    const std::filesystem::path folder = cpus_ / ("cpu" + std::to_string(of.cpu));
    const std::filesystem::path facts = folder / "topology";
    write_line(facts / "physical_package_id", std::to_string(of.package));
    write_line(facts / "core_id", std::to_string(of.core));
    const cpu_set package = sharing(machine, &tree_cpu::package, of.package);
    write_shared(facts / "package_cpus_list", facts / "package_cpus", package);
    const cpu_set core = of.core < 0 ? cpu_set{of.cpu} : sharing(machine, &tree_cpu::core, of.core);
    write_shared(facts / "core_cpus_list", facts / "core_cpus", core);
    if (of.capacity != 0) write_line(folder / "cpu_capacity", std::to_string(of.capacity));
    if (of.max_khz != 0) write_line(folder / "cpufreq/cpuinfo_max_freq", std::to_string(of.max_khz));

    int index = 0;
    const auto cache = [&](const char* level, const char* type, const cpu_set& set) {
      const std::filesystem::path at = folder / "cache" / ("index" + std::to_string(index++));
      write_line(at / "level", level);
      write_line(at / "type", type);
      write_line(at / "size", "512K");
      write_shared(at / "shared_cpu_list", at / "shared_cpu_map", set);
    };
    cache("1", "Data", core);
    if (of.l2 >= 0) cache("2", "Unified", sharing(machine, &tree_cpu::l2, of.l2));
    if (of.l3 >= 0) cache("3", "Unified", sharing(machine, &tree_cpu::l3, of.l3));
    cache("2", "Instruction", {of.cpu});  // is not to be taken for the one that holds data
  }

  void write_nodes(const tree_machine& machine) const {
    cpu_set ids;
    for (const tree_node& node : machine.nodes) {
      ids.add(node.id);
      cpu_set cpus;
      for (const tree_cpu& each : machine.cpus)
        if (each.node == node.id) cpus.add(each.cpu);
      const std::filesystem::path folder = nodes_ / ("node" + std::to_string(node.id));
      write_shared(folder / "cpulist", folder / "cpumap", cpus);
      write_line(folder / "distance", node.distances);
      write_line(folder / "meminfo", "Node " + std::to_string(node.id) + " MemTotal: 1048576 kB");
    }
    write_line(nodes_ / "online", ids.to_string());
  }

  tree_files files_ = tree_files::lists;
  std::filesystem::path cpus_ = "sys/devices/system/cpu";
  std::filesystem::path nodes_ = "sys/devices/system/node";
};

/// Two sockets, each a node, of eight cores with two threads and one cache of the third level for each four cores. The
/// second threads have the upper half of the numbers.
inline auto two_sockets() -> tree_machine {
  tree_machine machine{{}, {{0, "10 21"}, {1, "21 10"}}};
  for (unsigned cpu = 0; cpu < 32; ++cpu) {
    const int core = static_cast<int>(cpu % 16);
    machine.cpus.push_back({cpu, core / 8, cpu % 16 / 8, core, core, core / 4});
  }
  return machine;
}

/// Four cores with two threads and eight slower cores without, four of which share a cache of the second level.
inline auto hybrid() -> tree_machine {
  tree_machine machine{{}, {{0, "10"}}};
  for (unsigned cpu = 0; cpu < 8; ++cpu) {
    const int core = static_cast<int>(cpu / 2);
    machine.cpus.push_back({cpu, 0, 0, core, core, 0, 1024, 5'100'000});
  }
  for (unsigned cpu = 8; cpu < 16; ++cpu)
    machine.cpus.push_back({cpu, 0, 0, static_cast<int>(cpu), static_cast<int>(cpu / 4 * 100), 0, 640, 3'900'000});
  return machine;
}

/// Nodes 0 and 8 with CPUs, node 250 with memory only; CPUs 2 and 17 are offline, and no CPU has a number from 4 to 15.
/// No cache is shared, and there is none of the third level.
inline auto sparse_nodes() -> tree_machine {
  tree_machine machine{{}, {{0, "10 40 80"}, {8, "40 10 80"}, {250, "80 80 10"}}};
  for (const unsigned cpu : {0U, 1U, 3U, 16U, 18U, 19U}) {
    const bool high = cpu >= 16;
    machine.cpus.push_back({cpu, high ? 8 : 0, high ? 8U : 0U, static_cast<int>(cpu), static_cast<int>(cpu)});
  }
  return machine;
}

/// A machine of random shape: numbers with gaps, and parts that need not lie inside of each other.
inline auto random_machine(random_source& random) -> tree_machine {
  tree_machine machine;
  const auto below = [&](unsigned bound) { return static_cast<unsigned>(random.below(bound)); };
  const unsigned packages = 1 + below(3);
  const unsigned nodes = below(5);
  std::vector<unsigned> ids;
  for (unsigned at = 0, id = below(2); at < nodes; ++at, id += 1 + below(4)) ids.push_back(id);
  for (unsigned cpu = below(3), count = 1 + below(12); count > 0; --count, cpu += 1 + below(3)) {
    const auto number = [&](unsigned bound) { return static_cast<int>(below(bound)) - 1; };
    machine.cpus.push_back({cpu, number(packages + 1), ids.empty() ? 0 : ids[below(nodes)], number(9), number(6),
                            number(4), below(2) * 512, below(3) * 1'500'000UL});
  }
  for (const unsigned id : ids) {
    std::string row;
    for (std::size_t other = 0; other < ids.size(); ++other)
      row += (other == 0 ? "" : " ") + std::to_string(10 + below(50));
    machine.nodes.push_back({id, row});
  }
  return machine;
}

}  // namespace braid::testing
