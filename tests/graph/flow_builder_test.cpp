// tests/graph/flow_builder_test.cpp: what builders collect, and what they complain about.
#include <braid/graph/flow.hpp>

#include <braid/coro/task.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

using namespace braid;

namespace {

template <typename T>
auto codes_of(const checked<T>& built) -> std::string {
  std::string codes;
  if (!built)
    for (const diagnostic& each : built.error()) codes += each.code + "(" + each.node + ") ";
  return codes;
}

}  // namespace

TEST_CASE("the types of nodes and of the flow follow from the functions") {
  flow_builder<int, std::string> draft;
  const auto first = draft.input<0>();
  const auto text = draft.input<1>();
  const auto sum = draft.add(
      "sum", [](int n, const std::string& s) { return n + 0.5 * static_cast<double>(s.size()); }, first, text);
  const auto later = draft.add("later", [](double) -> task<std::unique_ptr<int>> { co_return nullptr; }, sum);
  const auto nothing = draft.add("nothing", [] {}, later.done());
  CHECK(std::same_as<decltype(first), const flow_node<int>>);
  CHECK(std::same_as<decltype(sum), const flow_node<double>>);
  CHECK(std::same_as<decltype(later), const flow_node<std::unique_ptr<int>>>);
  CHECK(std::same_as<decltype(nothing), const flow_node<void>>);
  CHECK(draft.size() == 3);
  const auto built = std::move(draft).build(later);
  REQUIRE(built.has_value());
  CHECK(std::same_as<decltype(built)::value_type, flow<std::unique_ptr<int>(int, std::string)>>);
  CHECK(built->size() == 3);
}

TEST_CASE("a flow may be empty, and may give what it is given") {
  CHECK(flow_builder<>().build()->size() == 0);
  flow_builder<int> draft;
  const auto in = draft.input();
  CHECK(std::move(draft).build(in)->size() == 0);
}

TEST_CASE("nodes of another builder are refused, by the name of who takes them") {
  flow_builder<> other;
  const auto strange = other.add("strange", [] { return 1; });
  flow_builder<> draft;
  const auto own = draft.add("own", [](int n) { return n; }, strange);
  draft.add("nameless", [](int n) { return n; }, flow_node<int>());
  CHECK(codes_of(std::move(draft).build(own)) == "unknown_node(own) unknown_node(nameless) ");
}

TEST_CASE("a result of another builder is refused") {
  flow_builder<> other;
  const auto strange = other.add("strange", [] { return 1; });
  CHECK(codes_of(flow_builder<>().build(strange)) == "unknown_node() ");
}

TEST_CASE("a small function has no timeout, and a task has one whatever its size") {
  flow_builder<> draft;
  draft.add({.name = "quick", .size = node_size::small, .timeout = 1ms}, [] {});
  CHECK(codes_of(std::move(draft).build()) == "timeout_of_small_node(quick) ");
  flow_builder<> good;
  good.add({.name = "waits", .size = node_size::small, .timeout = 1ms}, []() -> task<void> { co_return; });
  good.add({.name = "large", .timeout = 1ms}, [] {});
  CHECK(std::move(good).build().has_value());
}
