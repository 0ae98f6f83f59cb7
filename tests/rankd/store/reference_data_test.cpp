// tests/rankd/store/reference_data_test.cpp: data/reference holds what its README says.
#include <rankd/store/batch_read.hpp>
#include <rankd/store/load_store.hpp>

#include <tests/support/scratch_folder.hpp>

#include <numeric>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using ids = std::vector<std::int64_t>;

struct reference {
  reference() : data(open()) {}

  auto open() const -> embedded_store {
    REQUIRE(load_if_missing(folder.path() / "store", "data/reference", {}).has_value());
    auto store = embedded_store::open(folder.path() / "store");
    REQUIRE(store.has_value());
    return std::move(*store);
  }
  auto list(std::string_view prefix, std::int64_t user) -> id_batch {
    return read_batch(*data.take_snapshot(),
                      list_read{{prefix, arena.copied(std::span<const std::int64_t>(&user, 1))}, 100}, arena)
        .value();
  }
  auto ids_of(std::string_view prefix, std::int64_t user) -> ids {
    const auto found = list(prefix, user).lists[0];
    return {found.begin(), found.end()};
  }
  auto field(std::int64_t user, std::string_view name) -> std::optional<std::string_view> {
    return read_batch(*data.take_snapshot(), field_read{{"user:", std::span<const std::int64_t>(&user, 1)}, name},
                      arena)
        .value()[0];
  }

  braid::testing::scratch_folder folder;
  braid::arena arena;
  embedded_store data;
};

}  // namespace

TEST_CASE("user 1 is the plain case, and everybody around has a country and a title") {
  reference data;
  ids near(10);
  std::iota(near.begin(), near.end(), 1);
  ids far(10);
  std::iota(far.begin(), far.end(), 1001);
  CHECK((data.ids_of("follow:", 1) == near));
  CHECK((data.ids_of("recommendation:", 1) == far));
  near.insert(near.end(), far.begin(), far.end());
  for (const std::int64_t user : near) {
    CHECK(data.field(user, "country").value_or("").size() == 2);
    CHECK(data.field(user, "title").value_or("").size() > 5);
  }
}

TEST_CASE("the odd users are as odd as they are said to be") {
  reference data;
  CHECK_FALSE(data.field(11, "title").has_value());
  CHECK(data.field(12, "title").has_value());
  CHECK_FALSE(data.field(12, "country").has_value());
  CHECK(data.ids_of("follow:", 13).empty());
  CHECK((data.ids_of("follow:", 14) == ids{2, 4}));
  CHECK(data.list("follow:", 14).malformed == 4);
  CHECK((data.ids_of("media:", 1001) == ids{51001, 51002, 51003, 51004}));
  CHECK(data.ids_of("recommendation:", 5).empty());
}
