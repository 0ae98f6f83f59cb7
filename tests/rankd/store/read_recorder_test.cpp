// tests/rankd/store/read_recorder_test.cpp: batches pass through, and are kept once, until they are taken.
#include <rankd/store/read_recorder.hpp>

#include <rankd/store/replayed_reads.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/store/asking.hpp>

#include <array>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::ask_store;
using rankd::testing::memory_store;
using rankd::testing::op_world;

namespace {

constexpr std::array<std::int64_t, 2> users{1, -2};

auto batches_in(std::string bytes) -> std::size_t {
  return replayed_reads::parse(std::move(bytes), op_world())->batches();
}

}  // namespace

TEST_CASE("a batch reaches the store of its endpoint, and its answer comes back") {
  memory_store behind;
  behind.hashes["user:-2"]["country"] = "CA";
  const auto by = std::make_shared<read_recorder>(std::vector<store*>{&behind, nullptr});
  const store_list stores = read_recorder::list_stores(by);
  REQUIRE(stores->size() == 2);
  CHECK((*stores)[1] == nullptr);
  braid::arena memory;
  const auto got = braid::sync_wait(ask_store(*(*stores)[0], field_read{{"user:", users}, "country"}, memory)).value();
  CHECK(got[1] == "CA");
  CHECK(behind.asked == std::vector<std::string>{"hget user:1 user:-2"});
  CHECK((*stores)[0]->explain(make_error_code(store_errc::corrupt)).code ==
        behind.explain(make_error_code(store_errc::corrupt)).code);
  CHECK((*stores)[0]->damage().empty());
}

TEST_CASE("the same batch is kept once, with other answers each time, and nothing once it was taken") {
  memory_store behind;
  behind.lists["follow:1"] = {"5", "x"};
  const auto by = std::make_shared<read_recorder>(std::vector<store*>{&behind});
  const store_list stores = read_recorder::list_stores(by);
  braid::arena memory;
  const auto ask = [&] {
    static_cast<void>(braid::sync_wait(ask_store(*stores->front(), list_read{{"follow:", users}, 10}, memory)));
  };
  ask();
  ask();
  const std::vector<std::string_view> keys{"a"};
  for (int n = 0; n < 2; ++n)
    static_cast<void>(
        braid::sync_wait(ask_store(*stores->front(), named_read{.kind = read_kind::strings, .keys = keys}, memory)));
  {
    const auto steady = std::make_shared<read_recorder>(std::vector<store*>{stores->front()});
    for (int n = 0; n < 3; ++n)
      static_cast<void>(braid::sync_wait(
          ask_store(*read_recorder::list_stores(steady)->front(), hash_read{{"user:", users}}, memory)));
    CHECK(batches_in(steady->take()) == 1);
  }
  behind.lists["follow:1"] = {"6"};
  ask();
  CHECK(batches_in(by->take()) == 5);  // the list three times, the text and the hashes once
  ask();
  CHECK(by->take().empty());
  CHECK_FALSE(by->is_cut());
}

TEST_CASE("more than is kept of one request is cut, and says so") {
  memory_store behind;
  behind.strings["big"] = std::string(read_recorder::max_kept, 'x');
  const auto by = std::make_shared<read_recorder>(std::vector<store*>{&behind});
  braid::arena memory;
  const std::vector<std::string_view> keys{"big"};
  const auto got = braid::sync_wait(ask_store(*read_recorder::list_stores(by)->front(),
                                              named_read{.kind = read_kind::strings, .keys = keys}, memory));
  CHECK(got.value().of_key[0][0].text.size() == read_recorder::max_kept);
  CHECK(by->is_cut());
  CHECK(by->take().empty());
}
