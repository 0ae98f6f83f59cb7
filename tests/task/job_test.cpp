// tests/task/job_test.cpp: a job runs or is dropped, and whatever happens its captures are destroyed once.
#include <braid/task/job.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

using braid::detail::make_job;
using braid::testing::deaths;
using braid::testing::mortal;

namespace {

struct throws_when_copied {
  throws_when_copied() = default;
  throws_when_copied(const throws_when_copied& other) : bomb(other.bomb) {
    if (bomb) throw std::runtime_error("not copied");
  }
  throws_when_copied(throws_when_copied&&) noexcept = default;
  void operator()() const {}
  bool bomb = true;
};

struct only_as_rvalue {
  int* calls;
  void operator()() && { ++*calls; }
};

struct takes_an_argument {
  void operator()(int) const {}
};

}  // namespace

TEST_CASE("running calls once and destroys the captures once") {
  deaths ended;
  int calls = 0;
  braid::job& work = braid::detail::make_job([&calls, guard = mortal(ended)] { ++calls; });
  CHECK(ended.count == 0);
  work.run();
  CHECK(calls == 1);
  CHECK(ended.count == 1);
}

TEST_CASE("the captures are alive during the call") {
  deaths ended;
  int deaths_seen = -1;
  braid::job& work =
      braid::detail::make_job([&deaths_seen, &ended, guard = mortal(ended)] { deaths_seen = ended.count; });
  work.run();
  CHECK(deaths_seen == 0);
}

TEST_CASE("dropping destroys the captures without a call") {
  deaths ended;
  bool called = false;
  braid::job& work = braid::detail::make_job([&called, guard = mortal(ended)] { called = true; });
  work.drop();
  CHECK_FALSE(called);
  CHECK(ended.count == 1);
}

TEST_CASE("discarding destroys the captures without a call") {
  deaths ended;
  bool called = false;
  braid::detail::make_job([&called, guard = mortal(ended)] { called = true; }).discard();
  CHECK_FALSE(called);
  CHECK(ended.count == 1);
}

TEST_CASE("a callable that throws still has its captures destroyed once") {
  deaths ended;
  braid::job& work = braid::detail::make_job([guard = mortal(ended)] { throw std::runtime_error("no"); });
  CHECK_THROWS_AS(work.run(), std::runtime_error);
  CHECK(ended.count == 1);
}

TEST_CASE("a callable that cannot be moved into the job leaves nothing behind") {
  const throws_when_copied callable;
  CHECK_THROWS_AS(static_cast<void>(braid::detail::make_job(callable)), std::runtime_error);
}

TEST_CASE("big captures arrive whole") {
  std::array<std::uint8_t, 5000> big{};
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<std::uint8_t>(i * 31);
  std::size_t wrong = big.size();
  braid::job& work = braid::detail::make_job([big, &wrong] {
    wrong = 0;
    for (std::size_t i = 0; i < big.size(); ++i) wrong += big[i] != static_cast<std::uint8_t>(i * 31) ? 1 : 0;
  });
  big.fill(0);
  work.run();
  CHECK(wrong == 0);
}

TEST_CASE("captures aligned to sixteen bytes are") {
  struct alignas(16) wide {
    std::array<double, 2> value{};
  };
  for (int i = 0; i < 20; ++i) {
    std::uintptr_t address = 1;
    braid::job& work =
        braid::detail::make_job([wide = wide{}, &address] { address = reinterpret_cast<std::uintptr_t>(&wide); });
    work.run();
    CHECK(address % 16 == 0);
  }
}

TEST_CASE("a callable is called as an rvalue, because it is called once") {
  int calls = 0;
  braid::job& work = braid::detail::make_job(only_as_rvalue{&calls});
  work.run();
  CHECK(calls == 1);
}

TEST_CASE("what can be posted is callable without arguments and can be moved") {
  CHECK(braid::detail::job_function<void (*)()>);
  CHECK(braid::detail::job_function<only_as_rvalue>);
  CHECK(braid::detail::job_function<const throws_when_copied&>);
  CHECK_FALSE(braid::detail::job_function<takes_an_argument>);
  CHECK_FALSE(braid::detail::job_function<int>);
}

TEST_CASE("a job of one's own is told which of the two happens to it") {
  struct own final : braid::job {
    own() : job(&act) {}
    static void act(braid::job& self, action what) {
      auto& mine = static_cast<own&>(self);
      ++(what == action::run ? mine.runs : mine.drops);
    }
    int runs = 0;
    int drops = 0;
  };
  own work;
  CHECK(work.next == nullptr);
  work.run();
  CHECK(work.runs == 1);
  CHECK(work.drops == 0);
  work.drop();
  CHECK(work.drops == 1);
}
