// tests/sync/remote_stack_test.cpp: elements arrive once and in order, and an armed owner is woken exactly once.
#include <braid/sync/detail/remote_stack.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <thread>
#include <vector>

using braid::detail::push_result;

namespace {

struct item {
  int number = 0;
  item* next = nullptr;
};

using stack = braid::detail::remote_stack<item>;
using numbers = std::vector<int>;

auto listed(item* first) -> numbers {
  numbers out;
  for (; first != nullptr; first = first->next) out.push_back(first->number);
  return out;
}

}  // namespace

TEST_CASE("what was pushed is taken once, oldest first") {
  std::array<item, 3> items{item{1}, item{2}, item{3}};
  stack all;
  CHECK(all.take() == nullptr);
  for (item& one : items) CHECK(all.try_push(one) == push_result::queued);
  CHECK(listed(all.take()) == numbers{1, 2, 3});
  CHECK(all.take() == nullptr);
  CHECK(all.try_push(items[1]) == push_result::queued);
  CHECK(listed(all.take()) == numbers{2});
}

TEST_CASE("the first push after arming is told to wake, and no other") {
  std::array<item, 3> items{item{1}, item{2}, item{3}};
  stack all;
  CHECK(all.try_arm());
  CHECK(all.try_push(items[0]) == push_result::wake);
  CHECK(all.try_push(items[1]) == push_result::queued);
  CHECK(all.try_push(items[2]) == push_result::queued);
  CHECK(listed(all.take()) == numbers{1, 2, 3});
}

TEST_CASE("a stack with elements cannot be armed") {
  item one{1};
  stack all;
  static_cast<void>(all.try_push(one));
  CHECK_FALSE(all.try_arm());
  CHECK(listed(all.take()) == numbers{1});
  CHECK(all.try_arm());
}

TEST_CASE("taking disarms, also when there is nothing") {
  item one{1};
  stack all;
  CHECK(all.try_arm());
  CHECK_FALSE(all.try_arm());
  CHECK(all.take() == nullptr);
  CHECK(all.try_push(one) == push_result::queued);
}

TEST_CASE("a closed stack refuses, gives what it had, and opens again") {
  std::array<item, 3> items{item{1}, item{2}, item{3}};
  stack all;
  static_cast<void>(all.try_push(items[0]));
  static_cast<void>(all.try_push(items[1]));
  CHECK(listed(all.close()) == numbers{1, 2});
  items[2].next = &items[0];
  CHECK(all.try_push(items[2]) == push_result::closed);
  CHECK(items[2].next == &items[0]);
  CHECK_FALSE(all.try_arm());
  CHECK(all.close() == nullptr);
  all.open();
  CHECK(all.try_push(items[2]) == push_result::queued);
  CHECK(listed(all.take()) == numbers{3});
}

TEST_CASE("taking from a closed stack leaves it closed") {
  item one{1};
  stack all;
  CHECK(all.close() == nullptr);
  CHECK(all.take() == nullptr);
  CHECK(all.try_push(one) == push_result::closed);
}

TEST_CASE("an armed stack can be closed, and then wakes nobody") {
  item one{1};
  stack all;
  CHECK(all.try_arm());
  CHECK(all.close() == nullptr);
  CHECK(all.try_push(one) == push_result::closed);
}

TEST_CASE("elements of several threads all arrive, those of each thread in its order") {
  constexpr int producers = 3;
  constexpr int each = 2000;
  std::vector<item> items(producers * each);
  stack all;
  std::vector<std::thread> threads;
  for (int producer = 0; producer < producers; ++producer)
    threads.emplace_back([&, producer] {
      for (int i = 0; i < each; ++i) {
        item& mine = items[static_cast<std::size_t>(producer * each + i)];
        mine.number = producer * each + i;
        static_cast<void>(all.try_push(mine));
      }
    });
  std::array<numbers, producers> arrived;
  for (std::size_t count = 0; count < items.size();) {
    for (const int number : listed(all.take())) {
      arrived[static_cast<std::size_t>(number / each)].push_back(number % each);
      ++count;
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (const numbers& one : arrived) {
    CHECK(one.size() == each);
    CHECK(std::is_sorted(one.begin(), one.end()));
  }
}
