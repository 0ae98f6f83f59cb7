// tests/rankd/server/metered_store_test.cpp: what is asked is passed on, and counted by how it ended.
#include <rankd/server/metrics/metered_store.hpp>

#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/server/closed_store.hpp>
#include <tests/rankd/store/asking.hpp>

#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/runtime/runtime.hpp>

#include <array>
#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using rankd::testing::ask_store;
using rankd::testing::memory_store;

namespace {

constexpr std::array<std::int64_t, 2> users{1, 2};

/// Never answers, or throws.
class bad_store final : public rankd::testing::closed_store {
 public:
  enum class way { silent, throwing };
  explicit bad_store(way how) : how_(how) {}

  auto ask(store_question /*question*/, braid::arena& /*memory*/) -> braid::task<store_result<store_answer>> override {
    if (how_ == way::throwing) throw std::runtime_error("a store that throws");
    braid::event never;
    co_await never;
    co_return braid::fail(braid::errc::closed);
  }

 private:
  way how_;
};

auto answered(const metered_store& asked) -> std::uint64_t {
  return asked.metrics().times.up_to(part_histogram::bounds.size());
}

}  // namespace

TEST_CASE("batches are passed on, and their answers come back and are counted") {
  memory_store behind;
  behind.hashes["user:2"]["country"] = "CA";
  behind.lists["follow:1"] = {"5", "x"};
  metered_store asked(behind);
  braid::arena memory;
  const auto fields = braid::sync_wait(ask_store(asked, field_read{{"user:", users}, "country"}, memory)).value();
  CHECK(fields[1] == "CA");
  const auto lists = braid::sync_wait(ask_store(asked, list_read{{"follow:", users}, 10}, memory)).value();
  CHECK(lists.lists[0].size() == 1);
  CHECK(lists.malformed == 1);
  CHECK(braid::sync_wait(ask_store(asked, hash_read{{"user:", users}}, memory)).value().size() == 2);
  const std::vector<std::string_view> keys{"follow:1"};
  const named_read named{.kind = read_kind::list, .keys = keys, .count = 1};
  CHECK(braid::sync_wait(ask_store(asked, named, memory)).value().of_key[0][0].id == 5);
  CHECK(behind.asked.size() == 4);
  CHECK(answered(asked) == 4);
  CHECK(asked.metrics().errors == 0);
  CHECK(asked.metrics().in_flight == 0);
  behind.refusal = make_error_code(braid::errc::closed);
  CHECK(braid::sync_wait(ask_store(asked, field_read{{"user:", users}, "country"}, memory)).error() ==
        braid::errc::closed);
  CHECK(answered(asked) == 5);
  CHECK(asked.metrics().errors == 1);
  CHECK(asked.explain(behind.refusal).code == behind.explain(behind.refusal).code);
}

TEST_CASE("a batch that nobody waits for any more is late, one that throws an error") {
  const auto on = braid::runtime::create({.workers = 1}).value();
  braid::arena memory;
  bad_store silent(bad_store::way::silent);
  metered_store waiting(silent);
  auto limited = [&]() -> braid::task<bool> {
    auto asking = ask_store(waiting, field_read{{"user:", users}, "country"}, memory);
    auto timed = braid::with_timeout(1ms, std::move(asking));
    const auto got = co_await std::move(timed);
    co_return got.has_value();
  };
  CHECK(!on->run(limited()));
  CHECK(waiting.metrics().late == 1);
  CHECK(waiting.metrics().errors == 0);
  CHECK(waiting.metrics().in_flight == 0);
  CHECK(answered(waiting) == 0);

  bad_store throwing(bad_store::way::throwing);
  metered_store failing(throwing);
  CHECK_THROWS_AS(braid::sync_wait(ask_store(failing, field_read{{"user:", users}, "country"}, memory)),
                  std::runtime_error);
  CHECK(failing.metrics().errors == 1);
  CHECK(failing.metrics().late == 0);
  CHECK(failing.metrics().in_flight == 0);
}

TEST_CASE("metrics of several loops are added up") {
  endpoint_metrics sum{.times = {}, .errors = 1, .late = 2, .in_flight = 3};
  endpoint_metrics other{.times = {}, .errors = 10, .late = 20, .in_flight = 30};
  other.times.add(1ms);
  sum.add(other);
  CHECK(sum.errors == 11);
  CHECK(sum.late == 22);
  CHECK(sum.in_flight == 33);
  CHECK(sum.times.up_to(part_histogram::bounds.size()) == 1);
}
