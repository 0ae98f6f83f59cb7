// tests/trace/record_ring_test.cpp: what a ring takes, what it refuses, and that ends always fit.
#include <braid/trace/detail/record_ring.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace {

using small_ring = braid::detail::record_ring<int, 8>;

auto all_of(small_ring& ring) -> std::vector<int> {
  std::vector<int> found;
  ring.drain([&](int record) { found.push_back(record); });
  return found;
}

}  // namespace

TEST_CASE("records come in their order, many times around") {
  small_ring ring;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 5; ++i) REQUIRE(ring.try_add(std::array{10 * round + i}));
    REQUIRE(all_of(ring).size() == 5);
  }
  REQUIRE(ring.try_add(std::array{1, 2}));
  CHECK(all_of(ring) == std::vector{1, 2});
  CHECK(all_of(ring).empty());
}

TEST_CASE("a full ring counts what it refuses, both of two records") {
  small_ring ring;
  for (int i = 0; i < 7; ++i) REQUIRE(ring.try_add(std::array{i}));
  CHECK(!ring.try_add(std::array{7, 8}));
  CHECK(ring.lost() == 2);
  CHECK(ring.try_add(std::array{7}));
  CHECK(!ring.try_add(std::array{8}));
  CHECK(ring.lost() == 3);
  CHECK(all_of(ring).size() == 8);
  CHECK(ring.try_add(std::array{9}));
}

TEST_CASE("slices that have begun have room for their ends") {
  small_ring ring;
  int begun = 0;
  while (ring.try_add(std::array{begun}, 1)) ++begun;
  CHECK(begun == 4);
  CHECK(ring.lost() == 2);
  CHECK(!ring.try_add(std::array{99}));
  for (int i = 0; i < begun; ++i) ring.add_end(100 + i);
  CHECK(all_of(ring) == std::vector{0, 1, 2, 3, 100, 101, 102, 103});
  CHECK(ring.try_add(std::array{5}, 1));
}

TEST_CASE("what a process has left in a ring is what came after the records that are known, as far as it is there") {
  small_ring ring;
  std::vector<int> left;
  CHECK(ring.copy_from(0, left) == 0);
  for (int i = 0; i < 5; ++i) REQUIRE(ring.try_add(std::array{i}));
  CHECK(ring.read() == 0);
  CHECK(ring.copy_from(2, left) == 0);
  CHECK(left == std::vector{2, 3, 4});
  CHECK(all_of(ring).size() == 5);
  CHECK(ring.read() == 5);
  for (int i = 5; i < 13; ++i) REQUIRE(ring.try_add(std::array{i}));
  left.clear();
  CHECK(ring.copy_from(2, left) == 5);  // two places may hold what was being written
  CHECK(left == std::vector{7, 8, 9, 10, 11, 12});
  left.clear();
  CHECK(ring.copy_from(100, left) == 0);
  CHECK(left.empty());
}
