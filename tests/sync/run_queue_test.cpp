// tests/sync/run_queue_test.cpp: the order of a run queue, what a thief gets of it, and the slot.
#include <braid/sync/detail/run_queue.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace {

struct item {
  int number = 0;
  item* next = nullptr;
};

using numbers = std::vector<int>;
using queue = braid::detail::run_queue<item, 8>;

/// Items 0 to count − 1.
struct some {
  explicit some(int count) {
    for (int i = 0; i < count; ++i) all.push_back({.number = i});
  }
  void push_to(queue& to) {
    for (item& one : all) to.push(one);
  }
  std::vector<item> all;
};

auto popped(queue& from) -> numbers {
  numbers out;
  while (const item* one = from.pop()) out.push_back(one->number);
  return out;
}

auto counted(int first, int last) -> numbers {
  numbers out;
  for (int i = first; i <= last; ++i) out.push_back(i);
  return out;
}

}  // namespace

TEST_CASE("elements come out in the order of their push, however many there are") {
  for (const int count : {0, 1, 7, 8, 9, 16, 17, 100, 1000}) {
    queue all;
    some given(count);
    given.push_to(all);
    CHECK(all.approximate_size() == static_cast<std::size_t>(count));
    CHECK(all.empty() == (count == 0));
    CHECK(popped(all) == counted(0, count - 1));
    CHECK(all.empty());
  }
}

TEST_CASE("one element is taken only where it is the oldest of the ring") {
  for (const int count : {2, 8}) {
    queue all;
    some given(count);
    given.push_to(all);
    CHECK_FALSE(all.try_pop(given.all[1]));
    CHECK(all.try_pop(given.all[0]));
    CHECK_FALSE(all.try_pop(given.all[0]));
    CHECK(popped(all) == counted(1, count - 1));
    CHECK_FALSE(all.try_pop(given.all[0]));
  }
}

TEST_CASE("the order holds when pushes and pops alternate beyond the ring") {
  queue all;
  some given(500);
  numbers out;
  for (std::size_t i = 0; i < given.all.size(); ++i) {
    all.push(given.all[i]);
    if (i % 3 == 0) out.push_back(all.pop()->number);
  }
  for (const int rest : popped(all)) out.push_back(rest);
  CHECK(out == counted(0, 499));
}

TEST_CASE("a thief gets the older half, the oldest at once and the rest in its queue") {
  queue victim;
  queue mine;
  some given(7);
  given.push_to(victim);
  CHECK(mine.steal_half_from(victim)->number == 0);
  CHECK(popped(mine) == numbers{1, 2, 3});
  CHECK(popped(victim) == numbers{4, 5, 6});
  CHECK(mine.steal_half_from(victim) == nullptr);
}

TEST_CASE("steals go on until nothing is left, through the list as well, oldest first") {
  queue victim;
  queue mine;
  some given(100);
  given.push_to(victim);
  numbers out;
  while (const item* one = mine.steal_half_from(victim)) {
    out.push_back(one->number);
    for (const int rest : popped(mine)) out.push_back(rest);
  }
  CHECK(out == counted(0, 99));
  CHECK(victim.empty());
}

TEST_CASE("a thief takes no more than its ring has room for, and at least one") {
  queue victim;
  queue mine;
  some given(8);
  some own(7);
  given.push_to(victim);
  own.push_to(mine);
  CHECK(mine.steal_half_from(victim)->number == 0);
  CHECK(mine.approximate_size() == 8);
  CHECK(mine.steal_half_from(victim)->number == 2);
  CHECK(mine.approximate_size() == 8);
  CHECK(victim.approximate_size() == 5);
}

TEST_CASE("the slot is ahead of the queue, and what it held goes to the end") {
  queue all;
  some given(4);
  all.push(given.all[0]);
  all.push_next(given.all[1]);
  all.push_next(given.all[2]);
  CHECK(all.approximate_size() == 3);
  CHECK(all.pop_next()->number == 2);
  CHECK(all.pop_next() == nullptr);
  CHECK(popped(all) == numbers{0, 1});
}

TEST_CASE("a pop takes what is in the slot when nothing else is there") {
  queue all;
  some given(2);
  all.push_next(given.all[0]);
  CHECK_FALSE(all.empty());
  all.push(given.all[1]);
  CHECK(popped(all) == numbers{1, 0});
  CHECK(all.empty());
}

TEST_CASE("a thief takes from the slot what it has seen there before, and nothing newer") {
  queue all;
  some given(2);
  CHECK(all.next_mark() == 0);
  all.push_next(given.all[0]);
  const auto mark = all.next_mark();
  CHECK(mark != 0);
  CHECK(all.next_mark() == mark);
  CHECK(all.pop_next() == &given.all[0]);
  CHECK(all.next_mark() == 0);
  CHECK(all.steal_next(mark) == nullptr);
  all.push_next(given.all[0]);  // the same element again is newer, too
  CHECK(all.steal_next(mark) == nullptr);
  CHECK(all.steal_next(all.next_mark()) == &given.all[0]);
  CHECK(all.empty());
}

TEST_CASE("half a queue is stolen without its slot") {
  queue victim;
  queue mine;
  some given(1);
  victim.push_next(given.all[0]);
  CHECK(mine.steal_half_from(victim) == nullptr);
  CHECK_FALSE(victim.empty());
}

TEST_CASE("who has no queue takes the oldest element, one at a time, and what is in the slot last") {
  for (const int count : {0, 1, 8, 9, 100}) {
    queue all;
    some given(count + 1);
    for (int i = 0; i < count; ++i) all.push(given.all[static_cast<std::size_t>(i)]);
    all.push_next(given.all.back());
    numbers out;
    while (const item* one = all.steal_one()) out.push_back(one->number);
    CHECK(out == counted(0, count));
    CHECK(all.empty());
  }
}

TEST_CASE("what is left after single elements were taken comes out in order") {
  queue all;
  some given(40);
  given.push_to(all);
  numbers out;
  for (int i = 0; i < 13; ++i) out.push_back(all.steal_one()->number);
  for (const int rest : popped(all)) out.push_back(rest);
  CHECK(out == counted(0, 39));
}
