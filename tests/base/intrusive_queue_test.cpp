// tests/base/intrusive_queue_test.cpp: what is pushed first is popped first.
#include <braid/base/detail/intrusive_queue.hpp>

#include <doctest/doctest.h>

#include <array>
#include <utility>
#include <vector>

namespace {

struct item {
  int number = 0;
  item* next = nullptr;
};

using queue = braid::detail::intrusive_queue<item>;

auto emptied(queue& from) -> std::vector<int> {
  std::vector<int> out;
  while (const item* one = from.pop()) out.push_back(one->number);
  return out;
}

}  // namespace

TEST_CASE("elements come out in the order in which they went in") {
  std::array<item, 3> items{item{1}, item{2}, item{3}};
  queue all;
  CHECK(all.empty());
  CHECK(all.pop() == nullptr);
  CHECK(all.newest() == nullptr);
  for (item& one : items) all.push(one);
  CHECK_FALSE(all.empty());
  CHECK(all.newest() == &items[2]);
  CHECK(emptied(all) == std::vector<int>{1, 2, 3});
  CHECK(all.empty());
  CHECK(all.newest() == nullptr);
}

TEST_CASE("a queue that was emptied works like a new one") {
  std::array<item, 2> items{item{1}, item{2}};
  queue all;
  all.push(items[0]);
  CHECK(all.pop() == items.data());
  all.push(items[1]);
  all.push(items[0]);
  CHECK(emptied(all) == std::vector<int>{2, 1});
}

TEST_CASE("the link an element brings along is ignored") {
  item stranger;
  item one{1, &stranger};
  queue all;
  all.push(one);
  CHECK(emptied(all) == std::vector<int>{1});
}

TEST_CASE("a chain keeps its order behind what is there") {
  std::array<item, 4> items{item{1}, item{2}, item{3}, item{4}};
  items[1].next = &items[2];
  items[2].next = &items[3];
  queue all;
  all.push(items[0]);
  all.push_chain(&items[1]);
  all.push_chain(nullptr);
  CHECK(emptied(all) == std::vector<int>{1, 2, 3, 4});
}

TEST_CASE("one queue behind another keeps both orders, and the one that gave its elements works on") {
  std::array<item, 5> items{item{1}, item{2}, item{3}, item{4}, item{5}};
  queue front;
  queue back;
  front.append(back);
  CHECK(front.empty());
  back.push(items[0]);
  front.append(back);
  back.push(items[1]);
  back.push(items[2]);
  front.append(back);
  CHECK(back.empty());
  back.push(items[4]);
  front.push(items[3]);
  CHECK(emptied(front) == std::vector<int>{1, 2, 3, 4});
  CHECK(emptied(back) == std::vector<int>{5});
}

TEST_CASE("a moved queue takes the elements along and leaves an empty one that works") {
  std::array<item, 3> items{item{1}, item{2}, item{3}};
  queue source;
  source.push(items[0]);
  source.push(items[1]);
  queue target(std::move(source));
  CHECK(source.empty());
  source.push(items[2]);
  CHECK(emptied(source) == std::vector<int>{3});
  CHECK(emptied(target) == std::vector<int>{1, 2});
}
