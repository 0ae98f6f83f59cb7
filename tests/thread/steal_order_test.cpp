// tests/thread/steal_order_test.cpp: the order of a worker's victims, on machines made of files.
#include <braid/base/random.hpp>
#include <braid/thread/detail/steal_order.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/machine_tree.hpp>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <vector>

using braid::topology;
using braid::detail::cpu_nearness;
using braid::detail::nearness_of;
using braid::detail::steal_order;
using braid::testing::machine_tree;
using numbers = std::vector<std::size_t>;

namespace {

auto one_on_each_of(unsigned cpus) -> std::vector<unsigned> {
  std::vector<unsigned> all(cpus);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

}  // namespace

TEST_CASE("nearness is the closest thing that two CPUs share") {
  const topology sockets = topology::read(machine_tree(braid::testing::two_sockets()).path().string());
  CHECK(nearness_of(sockets, 0, 0) == cpu_nearness::same_cpu);
  CHECK(nearness_of(sockets, 0, 16) == cpu_nearness::same_core);
  CHECK(nearness_of(sockets, 0, 1) == cpu_nearness::same_l3);
  CHECK(nearness_of(sockets, 0, 4) == cpu_nearness::same_node);
  CHECK(nearness_of(sockets, 0, 8) == cpu_nearness::other_node);
  CHECK(nearness_of(sockets, 0, 99) == cpu_nearness::unknown);
  const topology mixed = topology::read(machine_tree(braid::testing::hybrid()).path().string());
  CHECK(nearness_of(mixed, 8, 9) == cpu_nearness::same_l2);
  CHECK(nearness_of(mixed, 8, 12) == cpu_nearness::same_l3);
  const topology sparse = topology::read(machine_tree(braid::testing::sparse_nodes()).path().string());
  CHECK(nearness_of(sparse, 0, 1) == cpu_nearness::same_node);
}

TEST_CASE("two sockets: the other thread of the core, the cache, the node, the other node") {
  const topology machine = topology::read(machine_tree(braid::testing::two_sockets()).path().string());
  const numbers order = steal_order(machine, one_on_each_of(32), 0);
  CHECK(order == numbers{16,                             // core
                         1,  2, 3,  17, 18, 19,          // cache
                         4,  5, 6,  7,  20, 21, 22, 23,  // node
                         8,  9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31});
}

TEST_CASE("equally near victims come in turn, beginning after the thief") {
  const topology machine = topology::read(machine_tree(braid::testing::two_sockets()).path().string());
  const std::vector<unsigned> cpus{0, 1, 2, 3};
  CHECK(steal_order(machine, cpus, 0) == numbers{1, 2, 3});
  CHECK(steal_order(machine, cpus, 2) == numbers{3, 0, 1});
}

TEST_CASE("a hybrid machine: the cluster that shares the second cache comes before the rest") {
  const topology machine = topology::read(machine_tree(braid::testing::hybrid()).path().string());
  const numbers order = steal_order(machine, one_on_each_of(16), 9);
  CHECK(numbers(order.begin(), order.begin() + 3) == numbers{10, 11, 8});
}

TEST_CASE("other nodes come in the order of their distance") {
  braid::testing::tree_machine shape{{}, {{0, "10 32 21"}, {1, "32 10 40"}, {5, "21 40 10"}}};
  for (unsigned cpu = 0; cpu < 3; ++cpu) shape.cpus.push_back({cpu, 0, cpu == 2 ? 5 : cpu, static_cast<int>(cpu)});
  const topology machine = topology::read(machine_tree(shape).path().string());
  CHECK(steal_order(machine, one_on_each_of(3), 0) == numbers{2, 1});
  CHECK(steal_order(machine, one_on_each_of(3), 1) == numbers{0, 2});
}

TEST_CASE("workers on the same CPU are nearest, those on CPUs that are not there come last") {
  const topology machine = topology::read(machine_tree(braid::testing::two_sockets()).path().string());
  const std::vector<unsigned> cpus{4000, 16, 9, 0, 0};
  CHECK(steal_order(machine, cpus, 3) == numbers{4, 1, 2, 0});
  CHECK(steal_order(machine, cpus, 0) == numbers{1, 2, 3, 4});
  CHECK(steal_order(machine, std::vector<unsigned>{7}, 0).empty());
}

TEST_CASE(
    "on random machines the order is a permutation of the others, never goes nearer again, and is the same again") {
  braid::random_source random(43);
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const auto shape = braid::testing::random_machine(random);
    const topology machine = topology::read(machine_tree(shape).path().string());
    std::vector<unsigned> cpus(1 + random.below(20));
    for (unsigned& cpu : cpus) cpu = shape.cpus[random.below(shape.cpus.size())].cpu;
    const std::size_t worker = random.below(cpus.size());
    const numbers order = steal_order(machine, cpus, worker);
    CHECK(order == steal_order(machine, cpus, worker));
    CHECK(std::ranges::is_sorted(order, {},
                                 [&](std::size_t other) { return nearness_of(machine, cpus[worker], cpus[other]); }));
    numbers sorted = order;
    sorted.push_back(worker);
    std::ranges::sort(sorted);
    numbers all(cpus.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    CHECK(sorted == all);
  }
}

TEST_CASE("a worker that is none of those named ends the program") {
  const topology machine = topology::read("/", braid::topology_source::nothing);
  const auto end = braid::testing::run_in_child([&] { steal_order(machine, std::vector<unsigned>{0}, 1); });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("the worker must be one of the workers whose CPUs are listed") != std::string::npos);
}
