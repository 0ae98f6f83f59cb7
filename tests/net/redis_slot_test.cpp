// tests/net/redis_slot_test.cpp: slots as the cluster specification computes them.
#include <braid/net/redis_cluster.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace braid;

TEST_CASE("slots are those of the specification") {
  CHECK(braid::detail::redis_slot_of("123456789") == 0x31c3);
  CHECK(braid::detail::redis_slot_of("") == 0);
  CHECK(braid::detail::redis_slot_of("foo") == 12'182);
  CHECK(braid::detail::redis_slot_of("bar") == 5'061);
  CHECK(braid::detail::redis_slot_of("somekey") == 11'058);
}

TEST_CASE("what stands in braces decides, where there is something in them") {
  CHECK(braid::detail::redis_slot_of("{user1000}.following") == braid::detail::redis_slot_of("{user1000}.followers"));
  CHECK(braid::detail::redis_slot_of("{user1000}.following") == braid::detail::redis_slot_of("user1000"));
  CHECK(braid::detail::redis_slot_of("foo{{bar}}zap") == braid::detail::redis_slot_of("{bar"));
  CHECK(braid::detail::redis_slot_of("foo{bar}{zap}") == braid::detail::redis_slot_of("bar"));
  CHECK(braid::detail::redis_slot_of("foo{}{bar}") != braid::detail::redis_slot_of("bar"));
  CHECK(braid::detail::redis_slot_of("foo{bar") != braid::detail::redis_slot_of("bar"));
}

TEST_CASE("every slot has keys") {
  int seen = 0;
  std::string is_seen(braid::detail::redis_slots, 'n');
  for (int i = 0; i < 400'000; ++i) {
    char& mark = is_seen[braid::detail::redis_slot_of(std::to_string(i))];
    seen += mark == 'n';
    mark = 'y';
  }
  CHECK(seen == braid::detail::redis_slots);
}
