// tests/thread/affinity_test.cpp: sets and places for threads, of allowed CPUs only.
#include <braid/base/random.hpp>
#include <braid/thread/topology.hpp>

#include <doctest/doctest.h>

#include <tests/support/machine_tree.hpp>

#include <algorithm>
#include <system_error>
#include <vector>

using braid::cpu_set;
using braid::topology;
using braid::testing::machine_tree;
using braid::testing::tree_machine;
using cpus = std::vector<unsigned>;

namespace {

/// The machine of the files, with only some CPUs allowed.
auto machine_of(const tree_machine& shape, const cpu_set& allowed) -> topology {
  const machine_tree files(shape);
  files.allow(allowed);
  return topology::read(files.path().string());
}

auto everything() -> cpu_set { return cpu_set::range(0, 31); }

}  // namespace

TEST_CASE("parts of a machine: node, package, cache, kind of core") {
  const topology machine = machine_of(braid::testing::two_sockets(), everything());
  CHECK(machine.cpus_of_node(1)->to_string() == "8-15,24-31");
  CHECK(machine.cpus_of_package(0)->to_string() == "0-7,16-23");
  CHECK(machine.cpus_of_l3(3)->to_string() == "12-15,28-31");
  CHECK(machine.cpus_of_kind(topology::core_kind::alike) == everything());
  const topology sparse = machine_of(braid::testing::sparse_nodes(), everything());
  CHECK(sparse.cpus_of_node(8)->to_string() == "16,18-19");
  CHECK(sparse.cpus_of_package(8)->to_string() == "16,18-19");
  const topology mixed = machine_of(braid::testing::hybrid(), everything());
  CHECK(mixed.cpus_of_kind(topology::core_kind::performance)->to_string() == "0-7");
  CHECK(mixed.cpus_of_kind(topology::core_kind::efficiency)->to_string() == "8-15");
}

TEST_CASE("a part that is not there is no_such_device, a part of which nothing is allowed is invalid_argument") {
  const topology machine = machine_of(braid::testing::two_sockets(), {0, 16});
  CHECK(machine.cpus_of_node(0) == cpu_set{0, 16});
  CHECK(machine.cpus_of_node(1).error() == std::errc::invalid_argument);
  CHECK(machine.cpus_of_node(2).error() == std::errc::no_such_device);
  CHECK(machine.cpus_of_package(1).error() == std::errc::invalid_argument);
  CHECK(machine.cpus_of_package(7).error() == std::errc::no_such_device);
  CHECK(machine.cpus_of_l3(1).error() == std::errc::invalid_argument);
  CHECK(machine.cpus_of_l3(4).error() == std::errc::no_such_device);
  CHECK(machine.cpus_of_kind(topology::core_kind::efficiency).error() == std::errc::no_such_device);
  const topology sparse = machine_of(braid::testing::sparse_nodes(), everything());
  CHECK(sparse.cpus_of_node(250).error() == std::errc::invalid_argument);
}

TEST_CASE("one per core takes the first allowed thread of each core that has one") {
  CHECK(machine_of(braid::testing::two_sockets(), everything()).one_per_core() == cpu_set::range(0, 15));
  CHECK(machine_of(braid::testing::two_sockets(), {1, 16, 17, 31}).one_per_core() == cpu_set{1, 16, 31});
  CHECK(machine_of(braid::testing::hybrid(), everything()).one_per_core().to_string() == "0,2,4,6,8-15");
}

TEST_CASE("spreading takes the nodes in turn and the cores before their other threads") {
  const topology machine = machine_of(braid::testing::two_sockets(), everything());
  const cpus locations = machine.spread_over_nodes(34);
  CHECK(cpus(locations.begin(), locations.begin() + 5) == cpus{0, 8, 1, 9, 2});
  CHECK(cpus(locations.begin() + 14, locations.begin() + 18) == cpus{7, 15, 16, 24});
  CHECK(cpus(locations.begin() + 30, locations.end()) == cpus{23, 31, 0, 8});
  CHECK(machine.spread_over_nodes(0).empty());
}

TEST_CASE("spreading goes on with the node that has CPUs left when the others have none") {
  const topology machine = machine_of(braid::testing::two_sockets(), {0, 8, 9, 24});
  CHECK(machine.spread_over_nodes(5) == cpus{0, 8, 9, 24, 0});
}

TEST_CASE("spreading prefers performance cores, and efficiency cores to second threads") {
  const topology machine = machine_of(braid::testing::hybrid(), everything());
  CHECK(machine.spread_over_nodes(16) == cpus{0, 2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 1, 3, 5, 7});
}

TEST_CASE("compact fills a core, then its cache, node and package") {
  const topology machine = machine_of(braid::testing::two_sockets(), everything());
  const cpus locations = machine.compact(33);
  CHECK(cpus(locations.begin(), locations.begin() + 10) == cpus{0, 16, 1, 17, 2, 18, 3, 19, 4, 20});
  CHECK(locations[16] == 8);
  CHECK(locations[32] == 0);
  CHECK(machine_of(braid::testing::sparse_nodes(), {19, 3}).compact(3) == cpus{3, 19, 3});
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
    for (const braid::topology::node& node : machine.nodes) {
      check_part(machine.cpus_of_node(node.id));
      of_nodes |= machine.cpus_of_node(node.id).value_or(cpu_set());
    }
    CHECK(of_nodes == mask);
    for (const braid::topology::package& package : machine.packages) check_part(machine.cpus_of_package(package.id));
    for (std::size_t at = 0; at < machine.l3.size(); ++at) check_part(machine.cpus_of_l3(at));
    for (const auto kind :
         {topology::core_kind::alike, topology::core_kind::performance, topology::core_kind::efficiency})
      check_part(machine.cpus_of_kind(kind));
    CHECK(mask.contains_all(machine.one_per_core()));

    for (const auto& locations : {machine.spread_over_nodes(mask.size()), machine.compact(mask.size())}) {
      cpu_set used;
      for (const unsigned cpu : locations) used.add(cpu);
      CHECK(used == mask);
    }
  }
}
