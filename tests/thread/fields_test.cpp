// tests/thread/fields_test.cpp: fields of plain structs are counted, named and visited at compile time.
#include <braid/thread/fields.hpp>

#include <doctest/doctest.h>

#include <any>
#include <array>
#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <variant>
#include <vector>

using braid::field;
using braid::field_count;
using braid::field_name;
using braid::field_of;
using braid::visit_fields;

namespace here {

struct nothing {};

struct point {
  int x = 0;
  int y = 0;
  auto operator==(const point&) const -> bool = default;
};

struct line {
  point from;
  point to_;
  std::string label2;
};

/// Every kind of type that options and entries are made of.
struct many_kinds {
  std::string text;
  std::string_view view;
  std::optional<int> number;
  std::optional<std::string> maybe_text;
  std::vector<point> points;
  std::function<void(int)> callback = {};
  std::chrono::nanoseconds pause{};
  point nested;
  std::unique_ptr<int> owned;
  std::shared_ptr<int> shared;
  std::expected<int, std::error_code> outcome;
  std::variant<int, std::string> either;
  std::any whatever;
  std::array<int, 3> three{};
  std::error_code code;
  const char* raw = nullptr;
  void (*function)(int) = nullptr;
  double fraction = 0;
};

template <typename T>
struct box {
  T first_of_box;
  T second;
};

struct widest {
  int f01, f02, f03, f04, f05, f06, f07, f08, f09, f10, f11, f12, f13, f14, f15, f16;
  int f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32;
};

class closed {
 public:
  explicit closed(int value) : value_(value) {}
  [[nodiscard]] auto value() const -> int { return value_; }

 private:
  int value_;
};

}  // namespace here

namespace {

struct local {
  int only_here;
};

}  // namespace

static_assert(field_count<here::nothing> == 0);
static_assert(field_count<here::point> == 2);
static_assert(field_count<here::line> == 3);
static_assert(field_count<here::many_kinds> == 18);
static_assert(field_count<here::widest> == 32);
static_assert(field_count<field> == 2);

static_assert(field_name<here::point, 0>() == "x");
static_assert(field_name<here::line, 1>() == "to_");
static_assert(field_name<here::line, 2>() == "label2");
static_assert(field_name<here::many_kinds, 0>() == "text");
static_assert(field_name<here::many_kinds, 7>() == "nested");
static_assert(field_name<here::many_kinds, 16>() == "function");
static_assert(field_name<here::widest, 26>() == "f27");
static_assert(field_name<here::widest, 31>() == "f32");
static_assert(field_name<local, 0>() == "only_here");
static_assert(field_name<here::box<std::string>, 0>() == "first_of_box");
static_assert(field_name<here::box<here::box<int>>, 1>() == "second");

static_assert(field_of<&here::point::y> == field{1, "y"});
static_assert(field_of<&here::line::from> == field{0, "from"});
static_assert(field_of<&here::many_kinds::fraction> == field{17, "fraction"});
static_assert(field_of<&here::widest::f32> == field{31, "f32"});
static_assert(field_of<&local::only_here>.name == "only_here");

static_assert(!braid::plain_struct<here::closed>);
static_assert(!braid::plain_struct<int>);
static_assert(!braid::plain_struct<std::array<int, 2>[]>);

static_assert([] {
  here::point both{3, 4};
  int sum = 0;
  visit_fields(both, [&](std::string_view name, int& value) { sum += name == "x" ? value : 10 * value; });
  return sum;
}() == 43);

TEST_CASE("fields are visited in order, with their names") {
  const here::line object{{1, 2}, {3, 4}, "edge"};
  std::string seen;
  visit_fields(object, [&](std::string_view name, const auto& value) {
    seen += std::string(name) + ';';
    static_assert(std::is_const_v<std::remove_reference_t<decltype(value)>>);
  });
  CHECK(seen == "from;to_;label2;");
}

TEST_CASE("a visit may change the fields") {
  here::box<int> object{1, 2};
  visit_fields(object, [](std::string_view, int& value) { value *= 10; });
  CHECK(object.first_of_box == 10);
  CHECK(object.second == 20);
}

TEST_CASE("fields that only move are visited in place") {
  here::many_kinds object;
  object.owned = std::make_unique<int>(7);
  int found = 0;
  int visited = 0;
  visit_fields(object, [&](std::string_view name, auto& value) {
    ++visited;
    if constexpr (std::is_same_v<decltype(value), std::unique_ptr<int>&>)
      if (name == "owned") found = *value;
  });
  CHECK(visited == 18);
  CHECK(found == 7);
}

TEST_CASE("a struct without fields has nothing to visit") {
  here::nothing object;
  visit_fields(object, [](auto, auto&) { FAIL("a field was visited"); });
  CHECK(field_count<here::nothing> == 0);
}
