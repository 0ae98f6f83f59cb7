// tests/rankd/store/record_test.cpp: records survive the way into bytes and back; bytes that are no record do no harm.
#include <rankd/store/record.hpp>

#include <braid/base/random.hpp>

#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;

auto view_of(std::span<const std::byte> bytes) -> record_view {
  const auto view = record_view::parse(bytes);
  REQUIRE(view.has_value());
  return *view;
}

/// Reads everything that a record claims to hold.
auto touch(const record_view& view) -> std::size_t {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < view.count(); ++i) {
    if (view.kind() == record_kind::hash) sum += view.field_at(i).name.size() + view.field_at(i).value.size();
    if (view.kind() == record_kind::text_list || view.kind() == record_kind::set) sum += view.text_at(i).size();
    if (view.kind() == record_kind::string) sum += view.text_at(i).size();
    if (view.kind() == record_kind::sorted_set)
      sum +=
          view.text_at(i).size() + static_cast<std::size_t>(view.score_at(i) > 0) + view.find_member("a").value_or(0);
    if (view.kind() == record_kind::id_list) sum += static_cast<std::size_t>(view.id_at(i) & 1);
  }
  return sum + view.field("country").value_or("").size();
}

}  // namespace

TEST_CASE("a hash gives each field by name and all of them in order") {
  const std::vector<hash_field> fields = {{"", "nameless"}, {"a", ""}, {"country", "DE"}, {"title", "Ümläute"}};
  record_builder builder;
  const record_view view = view_of(builder.hash(fields, {3, 17}));
  CHECK(view.kind() == record_kind::hash);
  REQUIRE(view.count() == fields.size());
  CHECK(view.origin() == record_origin{3, 17});
  for (std::size_t i = 0; i < fields.size(); ++i) {
    CHECK(view.field_at(i) == fields[i]);
    CHECK(view.field(fields[i].name) == fields[i].value);
  }
  CHECK_FALSE(view.field("countr").has_value());
  CHECK_FALSE(view.field("zzz").has_value());
}

TEST_CASE("a list of ids keeps the extremes and the order") {
  const std::vector<std::int64_t> ids = {std::numeric_limits<std::int64_t>::min(), -1, 0, 7, 7,
                                         std::numeric_limits<std::int64_t>::max()};
  record_builder builder;
  const record_view view = view_of(builder.id_list(ids, {}));
  REQUIRE(view.count() == ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) CHECK(view.id_at(i) == ids[i]);
  std::vector<std::int64_t> first(4);
  view.copy_ids(first);
  CHECK(first == std::vector<std::int64_t>(ids.begin(), ids.begin() + 4));
}

TEST_CASE("a list of text keeps every byte") {
  const std::vector<std::string_view> texts = {"", "12", std::string_view("\0\n", 2), "\xff\xfe", "007"};
  record_builder builder;
  const record_view view = view_of(builder.text_list(texts, {}));
  REQUIRE(view.count() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) CHECK(view.text_at(i) == texts[i]);
}

TEST_CASE("a sorted set gives its members by score, and finds each by its bytes") {
  const std::vector<scored_member> members = {{"17", -1.5}, {"b", 0}, {"", 2}, {"9", 2}, {"\xff", 1e300}};
  record_builder builder;
  const record_view view = view_of(builder.sorted_set(members, {1, 2}));
  REQUIRE(view.count() == members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    CHECK(view.text_at(i) == members[i].text);
    CHECK(view.score_at(i) == members[i].score);
    CHECK(view.find_member(members[i].text) == i);
  }
  CHECK_FALSE(view.find_member("1").has_value());
  CHECK_FALSE(view.find_member("z").has_value());
  CHECK_FALSE(view.field("17").has_value());
}

TEST_CASE("a set finds its members, and a list has none") {
  const std::vector<std::string_view> texts = {"", "12", "7", "a"};
  record_builder builder;
  const record_view view = view_of(builder.set(texts, {}));
  REQUIRE(view.count() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(view.text_at(i) == texts[i]);
    CHECK(view.find_member(texts[i]) == i);
  }
  CHECK_FALSE(view.find_member("8").has_value());
  CHECK_FALSE(view_of(builder.text_list(texts, {})).find_member("7").has_value());
}

TEST_CASE("a string is one text, which may be empty") {
  record_builder builder;
  for (const std::string_view text : {"", "9.5", "\xff"}) {
    const record_view view = view_of(builder.string(text, {1, 2}));
    CHECK(view.kind() == record_kind::string);
    REQUIRE(view.count() == 1);
    CHECK(view.text_at(0) == text);
    CHECK(view.origin() == record_origin{1, 2});
    CHECK_FALSE(view.field("9.5").has_value());
    CHECK_FALSE(view.find_member("9.5").has_value());
  }
  const auto bytes = builder.string("abc", {});
  std::vector<std::byte> two(bytes.begin(), bytes.end());
  two[4] = std::byte{2};  // a count of two
  two.resize(two.size() + 8);
  CHECK_FALSE(record_view::parse(two).has_value());
}

TEST_CASE("empty records are records") {
  record_builder builder;
  CHECK(view_of(builder.hash({}, {})).count() == 0);
  CHECK(view_of(builder.id_list({}, {})).count() == 0);
  CHECK(view_of(builder.text_list({}, {})).count() == 0);
  CHECK(view_of(builder.set({}, {})).count() == 0);
  CHECK_FALSE(view_of(builder.sorted_set({}, {})).find_member("a").has_value());
}

TEST_CASE("a record cut short is refused or reads as less, and never beyond its end") {
  const std::vector<hash_field> fields = {{"country", "US"}, {"title", "a title"}};
  record_builder builder;
  const auto bytes = builder.hash(fields, {});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto view = record_view::parse(part);
    CHECK(view.has_value() == (size >= 16 + 2 * 8));
    if (view) CHECK(touch(*view) < 22);
  }
}

TEST_CASE("arbitrary bytes are read without harm") {
  braid::random_source random(11);
  std::size_t parsed = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes(16 + random.below(64));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
    const std::uint32_t kind = static_cast<std::uint32_t>(random.below(7));
    const std::uint32_t count = static_cast<std::uint32_t>(random.below(12));
    std::memcpy(bytes.data(), &kind, 4);
    std::memcpy(bytes.data() + 4, &count, 4);
    const auto view = record_view::parse(bytes);
    if (!view) continue;
    ++parsed;
    CHECK(touch(*view) <= bytes.size() * (count + 1));
  }
  CHECK(parsed > 1000);
}

TEST_CASE("a count that would overflow the size is refused") {
  std::vector<std::byte> bytes(64);
  const std::uint32_t head[2] = {static_cast<std::uint32_t>(record_kind::id_list), 0xffff'ffff};
  std::memcpy(bytes.data(), head, sizeof head);
  CHECK_FALSE(record_view::parse(bytes).has_value());
}
