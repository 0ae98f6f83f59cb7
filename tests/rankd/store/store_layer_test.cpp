// tests/rankd/store/store_layer_test.cpp: a layer without a change of its own is the store behind it.
#include <rankd/store/store_layer.hpp>

#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/store/asking.hpp>

#include <braid/coro/spawn.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::ask_store;
using rankd::testing::memory_store;

namespace {

/// Answers differently from `store` in all that can be asked.
class other_store final : public memory_store {
 public:
  [[nodiscard]] auto explain(const store_error& why) const -> store_failure override {
    return {"other", std::string(why.server_text())};
  }
  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return true; }
  auto scrub(std::uint64_t max_bytes) -> scrub_step override { return {.bytes = max_bytes, .ends_round = true}; }
  [[nodiscard]] auto damage() const -> std::string override { return "broken"; }
};

}  // namespace

TEST_CASE("a layer passes on every kind of question, and all other calls") {
  other_store behind;
  behind.hashes["user:1"]["country"] = "US";
  behind.lists["follow:1"] = {"5"};
  store_layer layer(behind);
  braid::arena memory;
  const std::array<std::int64_t, 1> ids{1};
  const std::array<std::string_view, 1> keys{"follow:1"};
  CHECK(braid::sync_wait(ask_store(layer, field_read{{"user:", ids}, "country"}, memory)).value()[0] == "US");
  CHECK(braid::sync_wait(ask_store(layer, hash_read{{"user:", ids}}, memory)).value()[0].size() == 1);
  CHECK(braid::sync_wait(ask_store(layer, list_read{{"follow:", ids}, 1}, memory)).value().lists[0][0] == 5);
  const named_read named{.kind = read_kind::list, .keys = keys, .count = 1};
  CHECK(braid::sync_wait(ask_store(layer, named, memory)).value().of_key[0][0].id == 5);
  CHECK(behind.asked.size() == 4);
  const model_call call{.model = "m", .inputs = {}};
  CHECK(braid::sync_wait(ask_store(layer, call, memory)).error() == store_errc::wrong_type);
  CHECK(layer.explain(store_error({}, "text")).message == "text");
  CHECK(layer.answers_at_once());
  CHECK(layer.scrub(7).bytes == 7);
  CHECK(layer.damage() == "broken");
}
