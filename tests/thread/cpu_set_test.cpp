// tests/thread/cpu_set_test.cpp: sets of CPUs: reading, printing, algebra, walking.
#include <braid/base/random.hpp>
#include <braid/thread/cpu_set.hpp>

#include <doctest/doctest.h>

#include <ostream>
#include <set>
#include <system_error>
#include <vector>

namespace {

using braid::cpu_set;

auto members(const cpu_set& set) -> std::vector<unsigned> { return {set.begin(), set.end()}; }

}  // namespace

TEST_CASE("a list of the system is read and printed") {
  const auto set = cpu_set::parse(" 0-3,8,64-65\n");
  REQUIRE(set);
  CHECK(members(*set) == std::vector<unsigned>{0, 1, 2, 3, 8, 64, 65});
  CHECK(set->to_string() == "0-3,8,64-65");
  CHECK(cpu_set::parse("3,1,2,1")->to_string() == "1-3");
  CHECK(cpu_set::parse("")->empty());
  CHECK(cpu_set::parse("\n")->to_string().empty());
  CHECK(cpu_set::parse("8191")->first() == 8191U);
}

TEST_CASE("what is no list is refused") {
  for (const char* text : {",", "1,", ",1", "1,,2", "-", "1-", "-1", "3-1", "1-2-3", "a", "1 2", "0x1", "+1", "8192",
                           "0-8192", "99999999999999999999", "1;2"}) {
    CAPTURE(text);
    const auto set = cpu_set::parse(text);
    REQUIRE_FALSE(set);
    CHECK(set.error() == std::errc::invalid_argument);
  }
}

TEST_CASE("members come and go") {
  cpu_set set{1, 70};
  CHECK(set.size() == 2);
  set.add(1);
  CHECK(set.size() == 2);
  set.remove(70);
  set.remove(70);
  set.remove(5000);
  CHECK(set == cpu_set{1});
  set.remove(1);
  CHECK(set.empty());
  CHECK(set == cpu_set());
  CHECK_FALSE(set.first());
  CHECK(set.begin() == set.end());
}

TEST_CASE("sets are combined as sets are") {
  const cpu_set low = cpu_set::range(0, 99);
  const cpu_set high = cpu_set::range(90, 199);
  CHECK((low & high).to_string() == "90-99");
  CHECK((low | high).to_string() == "0-199");
  CHECK((low - high).to_string() == "0-89");
  CHECK((high - low).to_string() == "100-199");
  CHECK((low & cpu_set{500}).empty());
  CHECK(low.contains_all(cpu_set{0, 99}));
  CHECK_FALSE(low.contains_all(cpu_set{0, 100}));
  CHECK(low.contains_all(cpu_set()));
}

TEST_CASE("a random set agrees with std::set and survives its own text") {
  braid::random_source numbers(20);
  for (int round = 0; round < 200; ++round) {
    cpu_set set;
    std::set<unsigned> model;
    for (int step = 0; step < 40; ++step) {
      const auto cpu = static_cast<unsigned>(numbers.below(200));
      if (numbers.below(3) == 0) {
        set.remove(cpu);
        model.erase(cpu);
      } else {
        set.add(cpu);
        model.insert(cpu);
      }
    }
    CHECK(members(set) == std::vector<unsigned>(model.begin(), model.end()));
    CHECK(set.size() == model.size());
    CHECK(*cpu_set::parse(set.to_string()) == set);
  }
}
