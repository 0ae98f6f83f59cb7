// tests/rankd/store/counted_value_test.cpp: lists, sets and sorted sets, compared with simple ones.
#include <rankd/store/counted_value.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

/// Members in the order of scores and texts.
auto in_order(const std::map<std::string, double>& members) -> std::vector<std::pair<double, std::string>> {
  std::vector<std::pair<double, std::string>> out;
  for (const auto& [text, score] : members) out.emplace_back(score, text);
  std::ranges::sort(out);
  return out;
}

auto in_order(const counted_sorted_set& set) -> std::vector<std::pair<double, std::string>> {
  std::vector<std::pair<double, std::string>> out;
  for (const auto& each : set.items) out.emplace_back(each.score, each.text);
  return out;
}

}  // namespace

TEST_CASE("a list has the newest element first, and no more than its bound") {
  counted_list list;
  for (const char* each : {"a", "b", "b", "c"}) list.push(each, 3);
  CHECK(list.elements == std::vector<std::string>{"c", "b", "b"});
  list.push("d", 1);
  CHECK(list.elements == std::vector<std::string>{"d"});
}

TEST_CASE("a set has each member once, in the order of bytes, and refuses more than its bound") {
  counted_set set;
  CHECK(set.add("b", 2));
  CHECK(set.add("a", 2));
  CHECK_FALSE(set.add("c", 2));
  CHECK(set.add("a", 2));
  CHECK(set.members == std::vector<std::string>{"a", "b"});
  set.remove("c");
  set.remove("a");
  CHECK(set.members == std::vector<std::string>{"b"});
}

TEST_CASE("a sorted set is the same as a simple one after any changes") {
  std::mt19937_64 random(7);
  counted_sorted_set set;
  std::map<std::string, double> simple;
  for (int step = 0; step < 4'000; ++step) {
    const std::string text = "m" + std::to_string(random() % 40);
    const auto score = static_cast<double>(random() % 20) - 5;
    switch (random() % 12) {
      case 0:
        set.remove(text);
        simple.erase(text);
        break;
      case 1:
        set.remove_below(score / 4);
        std::erase_if(simple, [&](const auto& each) { return each.second < score / 4; });
        break;
      case 2: {
        const std::size_t kept = 20 + random() % 20;
        set.keep_highest(kept);
        const auto all = in_order(simple);
        for (std::size_t at = 0; at + kept < all.size(); ++at) simple.erase(all[at].second);
        break;
      }
      default: set.set(text, score); simple[text] = score;
    }
    CHECK(in_order(set) == in_order(simple));
    REQUIRE(set.by_text.size() == set.items.size());
    const auto place = set.find(text);
    REQUIRE(place.has_value() == simple.contains(text));
    if (place) CHECK(set.items[*place].text == text);
  }
}
