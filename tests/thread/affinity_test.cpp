// tests/thread/affinity_test.cpp: sets and places for threads, of allowed CPUs only.
#include <braid/base/random.hpp>
#include <braid/thread/topology.hpp>

#include <doctest/doctest.h>

#include <tests/support/machine_tree.hpp>

#include <algorithm>
#include <system_error>
#include <vector>

using braid::core_kind;
using braid::cpu_set;
using braid::read_topology;
using braid::topology;
using braid::testing::machine_tree;
using braid::testing::tree_machine;
using cpus = std::vector<unsigned>;

namespace {

/// The machine of the files, with only some CPUs allowed.
auto machine_of(const tree_machine& shape, const cpu_set& allowed) -> topology {
  const machine_tree files(shape);
  files.allow(allowed);
  return read_topology(files.path());
}

auto everything() -> cpu_set { return cpu_set::range(0, 31); }

}  // namespace

TEST_CASE("parts of a machine: node, package, cache, kind of core") {
  const topology machine = machine_of(braid::testing::two_sockets(), everything());
  CHECK(braid::affinity_for_node(machine, 1)->to_string() == "8-15,24-31");
  CHECK(braid::affinity_for_package(machine, 0)->to_string() == "0-7,16-23");
  CHECK(braid::affinity_for_l3(machine, 3)->to_string() == "12-15,28-31");
  CHECK(braid::affinity_for_kind(machine, core_kind::alike) == everything());
  const topology sparse = machine_of(braid::testing::sparse_nodes(), everything());
  CHECK(braid::affinity_for_node(sparse, 8)->to_string() == "16,18-19");
  CHECK(braid::affinity_for_package(sparse, 8)->to_string() == "16,18-19");
  const topology mixed = machine_of(braid::testing::hybrid(), everything());
  CHECK(braid::affinity_for_kind(mixed, core_kind::performance)->to_string() == "0-7");
  CHECK(braid::affinity_for_kind(mixed, core_kind::efficiency)->to_string() == "8-15");
}

TEST_CASE("a part that is not there is no_such_device, a part of which nothing is allowed is invalid_argument") {
  const topology machine = machine_of(braid::testing::two_sockets(), {0, 16});
  CHECK(braid::affinity_for_node(machine, 0) == cpu_set{0, 16});
  CHECK(braid::affinity_for_node(machine, 1).error() == std::errc::invalid_argument);
  CHECK(braid::affinity_for_node(machine, 2).error() == std::errc::no_such_device);
  CHECK(braid::affinity_for_package(machine, 1).error() == std::errc::invalid_argument);
  CHECK(braid::affinity_for_package(machine, 7).error() == std::errc::no_such_device);
  CHECK(braid::affinity_for_l3(machine, 1).error() == std::errc::invalid_argument);
  CHECK(braid::affinity_for_l3(machine, 4).error() == std::errc::no_such_device);
  CHECK(braid::affinity_for_kind(machine, core_kind::efficiency).error() == std::errc::no_such_device);
  const topology sparse = machine_of(braid::testing::sparse_nodes(), everything());
  CHECK(braid::affinity_for_node(sparse, 250).error() == std::errc::invalid_argument);
}

TEST_CASE("one per core takes the first allowed thread of each core that has one") {
  CHECK(braid::one_per_core(machine_of(braid::testing::two_sockets(), everything())) == cpu_set::range(0, 15));
  CHECK(braid::one_per_core(machine_of(braid::testing::two_sockets(), {1, 16, 17, 31})) == cpu_set{1, 16, 31});
  CHECK(braid::one_per_core(machine_of(braid::testing::hybrid(), everything())).to_string() == "0,2,4,6,8-15");
}

TEST_CASE("spreading takes the nodes in turn and the cores before their other threads") {
  const topology machine = machine_of(braid::testing::two_sockets(), everything());
  const cpus locations = braid::spread_over_nodes(machine, 34);
  CHECK(cpus(locations.begin(), locations.begin() + 5) == cpus{0, 8, 1, 9, 2});
  CHECK(cpus(locations.begin() + 14, locations.begin() + 18) == cpus{7, 15, 16, 24});
  CHECK(cpus(locations.begin() + 30, locations.end()) == cpus{23, 31, 0, 8});
  CHECK(braid::spread_over_nodes(machine, 0).empty());
}

TEST_CASE("spreading goes on with the node that has CPUs left when the others have none") {
  const topology machine = machine_of(braid::testing::two_sockets(), {0, 8, 9, 24});
  CHECK(braid::spread_over_nodes(machine, 5) == cpus{0, 8, 9, 24, 0});
}

TEST_CASE("spreading prefers performance cores, and efficiency cores to second threads") {
  const topology machine = machine_of(braid::testing::hybrid(), everything());
  CHECK(braid::spread_over_nodes(machine, 16) == cpus{0, 2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 1, 3, 5, 7});
}

TEST_CASE("compact fills a core, then its cache, node and package") {
  const topology machine = machine_of(braid::testing::two_sockets(), everything());
  const cpus locations = braid::compact(machine, 33);
  CHECK(cpus(locations.begin(), locations.begin() + 10) == cpus{0, 16, 1, 17, 2, 18, 3, 19, 4, 20});
  CHECK(locations[16] == 8);
  CHECK(locations[32] == 0);
  CHECK(braid::compact(machine_of(braid::testing::sparse_nodes(), {19, 3}), 3) == cpus{3, 19, 3});
}

TEST_CASE("on random machines with random masks only allowed CPUs are handed out, each once before any twice") {
  braid::random_source random(44);
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const tree_machine shape = braid::testing::random_machine(random);
    cpu_set mask;
    for (auto count = 1 + random.below(6); count > 0; --count)
      mask.add(shape.cpus[random.below(shape.cpus.size())].cpu);
    const topology machine = machine_of(shape, mask);
    CHECK(machine.allowed == mask);

    const auto check_part = [&](const braid::result<cpu_set>& part) {
      if (part) CHECK((mask.contains_all(*part) && !part->empty()));
    };
    cpu_set of_nodes;
    for (const braid::numa_node& node : machine.nodes) {
      check_part(braid::affinity_for_node(machine, node.id));
      of_nodes |= braid::affinity_for_node(machine, node.id).value_or(cpu_set());
    }
    CHECK(of_nodes == mask);
    for (const braid::cpu_package& package : machine.packages)
      check_part(braid::affinity_for_package(machine, package.id));
    for (std::size_t at = 0; at < machine.l3.size(); ++at) check_part(braid::affinity_for_l3(machine, at));
    for (const auto kind : {core_kind::alike, core_kind::performance, core_kind::efficiency})
      check_part(braid::affinity_for_kind(machine, kind));
    CHECK(mask.contains_all(braid::one_per_core(machine)));

    for (const auto& locations :
         {braid::spread_over_nodes(machine, mask.size()), braid::compact(machine, mask.size())}) {
      cpu_set used;
      for (const unsigned cpu : locations) used.add(cpu);
      CHECK(used == mask);
    }
  }
}
