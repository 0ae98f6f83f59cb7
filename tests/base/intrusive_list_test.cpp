// tests/base/intrusive_list_test.cpp: elements enter and leave lists in constant time and in the right order.
#include <braid/base/intrusive_list.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>

#include <array>
#include <csignal>
#include <vector>

namespace {

struct item : braid::list_hook {
  explicit item(int n) : number(n) {}
  int number;
};

using list = braid::intrusive_list<item>;

auto numbers(list& from) -> std::vector<int> {
  std::vector<int> out;
  from.for_each([&](const item& one) { out.push_back(one.number); });
  return out;
}

auto emptied(list& from) -> std::vector<int> {
  std::vector<int> out;
  while (const item* one = from.pop_front()) out.push_back(one->number);
  return out;
}

}  // namespace

TEST_CASE("elements come out in the order of the list") {
  std::array<item, 4> items{item(0), item(1), item(2), item(3)};
  list all;
  CHECK(all.empty());
  CHECK(all.pop_front() == nullptr);
  all.push_back(items[1]);
  all.push_back(items[2]);
  all.push_front(items[0]);
  all.push_back(items[3]);
  CHECK_FALSE(all.empty());
  CHECK(&all.front() == items.data());
  CHECK(emptied(all) == std::vector<int>{0, 1, 2, 3});
  CHECK(all.empty());
}

TEST_CASE("an element leaves from the front, the middle and the end, and may come back") {
  std::array<item, 3> items{item(0), item(1), item(2)};
  for (std::size_t leaving = 0; leaving < 3; ++leaving) {
    list all;
    for (item& one : items) all.push_back(one);
    items[leaving].unlink();
    CHECK_FALSE(items[leaving].is_linked());
    CHECK(numbers(all).size() == 2);
    all.push_back(items[leaving]);
    CHECK(items[leaving].is_linked());
    CHECK(emptied(all).back() == static_cast<int>(leaving));
  }
}

TEST_CASE("a list that lost its only element is empty") {
  item one(1);
  list all;
  all.push_back(one);
  one.unlink();
  CHECK(all.empty());
  CHECK(numbers(all).empty());
}

TEST_CASE("splicing keeps both orders and empties the other list") {
  std::array<item, 4> items{item(0), item(1), item(2), item(3)};
  list left;
  list right;
  left.splice_back(right);
  CHECK(left.empty());
  right.push_back(items[0]);
  right.push_back(items[1]);
  left.splice_back(right);
  CHECK(right.empty());
  right.push_back(items[2]);
  right.push_back(items[3]);
  left.splice_back(right);
  left.splice_back(right);
  CHECK(emptied(left) == std::vector<int>{0, 1, 2, 3});
  CHECK(emptied(right).empty());
}

TEST_CASE("an element with two hooks is in two lists, and leaves each alone") {
  struct by_age : braid::list_hook {};
  struct by_name : braid::list_hook {};
  struct person : by_age, by_name {};
  person somebody;
  braid::intrusive_list<person, by_age> ages;
  braid::intrusive_list<person, by_name> names;
  ages.push_back(somebody);
  names.push_back(somebody);
  CHECK(ages.pop_front() == &somebody);
  CHECK_FALSE(somebody.by_age::is_linked());
  CHECK(somebody.by_name::is_linked());
  CHECK(&names.front() == &somebody);
  CHECK(names.pop_front() == &somebody);
}

#if defined(BRAID_CHECKED)
TEST_CASE("checked builds refuse what would leave dangling links") {
  using braid::testing::run_in_child;
  const auto twice = run_in_child([] {
    item one(1);
    list left;
    list right;
    left.push_back(one);
    right.push_back(one);
  });
  CHECK(twice.signal == SIGABRT);
  CHECK(twice.errors.find("in one list at a time") != std::string::npos);
  const auto destroyed = run_in_child([] {
    list all;
    item one(1);
    all.push_back(one);
  });
  CHECK(destroyed.errors.find("must leave its list") != std::string::npos);
  const auto itself = run_in_child([] {
    list all;
    all.splice_back(all);
  });
  CHECK(itself.errors.find("appended to itself") != std::string::npos);
}
#endif
