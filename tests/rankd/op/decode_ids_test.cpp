// tests/rankd/op/decode_ids_test.cpp: ids out of texts that hold arrays: JSON and packed integers.
#include <rankd/op/operator.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

using texts = std::vector<std::optional<std::string_view>>;

struct ids_bench : op_bench {
  auto of_texts(const texts& all) -> row_set {
    const std::vector<std::int64_t> ids(all.size(), 1);
    return with<std::string_view>(row_set(batch(memory().copied(std::span<const std::int64_t>(ids)))), 3002, all);
  }

  auto ids(const texts& all, const std::string& format, int count = 10) -> std::vector<std::int64_t> {
    return ids_of(rows("core::decode_ids",
                       R"({"key":3002,"format":")" + format + R"(","count":)" + std::to_string(count) + "}",
                       {of_texts(all)}));
  }
};

/// Returns the bytes of integers, the lowest first.
auto packed(std::initializer_list<std::int64_t> numbers) -> std::string {
  static_assert(std::endian::native == std::endian::little);
  std::string out;
  for (const std::int64_t& each : numbers) out.append(reinterpret_cast<const char*>(&each), sizeof(each));
  return out;
}

}  // namespace

TEST_CASE("ids of arrays follow each other, the first of each text, in the order of the rows") {
  ids_bench bench;
  using ids = std::vector<std::int64_t>;
  const texts all{"[3,1,2]", std::nullopt, "[]", R"(["5",6])", "[3,1,2]"};
  CHECK((bench.ids(all, "json") == ids{3, 1, 2, 5, 6, 3, 1, 2}));
  CHECK((bench.ids(all, "json", 2) == ids{3, 1, 5, 6, 3, 1}));
  CHECK(bench.malformed_ids == 0);
  CHECK((bench.ids({R"([1,"x",1.5,null,[2],true,"07",9])", "7", "[", "{}"}, "json") == ids{1, 9}));
  CHECK(bench.malformed_ids == 6 + 3);
  CHECK((bench.ids({R"(["x",4,"y",5,6])"}, "json", 2) == ids{4, 5}));
  const std::string bytes = packed({-1, 1LL << 60});
  CHECK((bench.ids({bytes, bytes.substr(1)}, "int64") == ids{-1, 1LL << 60}));
  CHECK((bench.ids({bytes}, "int64", 1) == ids{-1}));
  CHECK(bench.ids({}, "json").empty());
  // No row has the column.
  CHECK(bench.rows("core::decode_ids", R"({"key":3001,"format":"json","count":1})", {bench.of_texts({"[1]"})}).empty());
}
