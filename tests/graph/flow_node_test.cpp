// tests/graph/flow_node_test.cpp: what may be a node of a flow, and what the compiler refuses.
#include <braid/graph/flow.hpp>

#include <braid/coro/task.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace braid;

namespace {

struct base {};
struct derived : base {};

auto reads(const std::string& text) -> std::size_t { return text.size(); }
auto changes(std::string& text) -> std::size_t { return text.size(); }
auto takes_over(std::string&& text) -> std::size_t { return text.size(); }
auto gives_reference(const std::string& text) -> const std::string& { return text; }
auto polls(const std::string& text, const stop_flag& stop) -> std::size_t { return stop.requested() ? 0 : text.size(); }
auto waits(const std::string& text) -> task<std::size_t> { co_return text.size(); }
auto waits_with_copy(std::string text) -> task<std::size_t> { co_return text.size(); }
auto waits_with_view(std::string_view text) -> task<std::size_t> { co_return text.size(); }
auto waits_for_base(const base& /*all*/) -> task<void> { co_return; }
auto waits_with_span(const std::span<const int>& all) -> task<std::size_t> { co_return all.size(); }
auto gives_reference_later(const std::string& text) -> task<const std::string&> { co_return text; }

template <auto Function>
using type_of = std::decay_t<decltype(Function)>;

struct throws_when_it_goes {
  ~throws_when_it_goes() noexcept(false) {}  // NOLINT
};

}  // namespace

TEST_CASE("a node takes values by const reference or by value, and nothing that it could change or keep") {
  CHECK(braid::detail::flow_function<type_of<reads>, std::string>);
  CHECK_FALSE(braid::detail::flow_function<type_of<changes>, std::string>);
  CHECK_FALSE(braid::detail::flow_function<type_of<takes_over>, std::string>);
  CHECK(braid::detail::flow_function<type_of<waits>, std::string>);
  CHECK(braid::detail::flow_function<type_of<waits_with_copy>, std::string>);
  CHECK(braid::detail::flow_function<decltype([](std::unique_ptr<int> /*copied*/) {}), int> == false);
  CHECK_FALSE(braid::detail::flow_function<decltype([](std::unique_ptr<int> /*copied*/) {}), std::unique_ptr<int>>);
  CHECK(braid::detail::flow_function<decltype([](const std::unique_ptr<int>& /*seen*/) {}), std::unique_ptr<int>>);
}

TEST_CASE("a node takes as many values as it is given, and values of the right type") {
  CHECK_FALSE(braid::detail::flow_function<type_of<reads>>);
  CHECK_FALSE(braid::detail::flow_function<type_of<reads>, std::string, std::string>);
  CHECK_FALSE(braid::detail::flow_function<type_of<reads>, std::vector<int>>);
  CHECK_FALSE(braid::detail::flow_function<int, std::string>);
}

TEST_CASE("what a node only waits for is no argument") {
  CHECK(braid::detail::flow_function<type_of<reads>, void, std::string, void>);
  CHECK(braid::detail::flow_function<decltype([] {}), void>);
  CHECK(std::is_same_v<decltype(flow_node<std::string>().done()), flow_node<void>>);
}

TEST_CASE("a node gives an object: no reference, and nothing whose end can throw") {
  CHECK_FALSE(braid::detail::flow_function<type_of<gives_reference>, std::string>);
  CHECK_FALSE(braid::detail::flow_function<type_of<gives_reference_later>, std::string>);
  CHECK_FALSE(braid::detail::flow_function<decltype([] { return throws_when_it_goes(); })>);
}

TEST_CASE("a node is called through a const object, because several runs call it at once") {
  CHECK_FALSE(braid::detail::flow_function<decltype([n = 0]() mutable { return ++n; })>);
  CHECK(braid::detail::flow_function<decltype([n = 0] { return n; })>);
}

TEST_CASE("a function takes the stop flag of the run behind its values where it can") {
  CHECK(braid::detail::flow_function<type_of<polls>, std::string>);
  CHECK_FALSE(braid::detail::flow_function<decltype([](const stop_flag&) -> task<void> { co_return; })>);
}

TEST_CASE("what gives a task takes no reference to what an argument would have to be converted to first") {
  CHECK_FALSE(braid::detail::flow_function<type_of<waits>, const char*>);
  CHECK(braid::detail::flow_function<type_of<waits_with_copy>, const char*>);
  CHECK(braid::detail::flow_function<type_of<reads>,
                                     const char*>);  // a function has ended before the temporary object does
  CHECK(braid::detail::flow_function<type_of<waits_with_view>, std::string>);
  CHECK(braid::detail::flow_function<type_of<waits_for_base>, derived>);
  CHECK_FALSE(braid::detail::flow_function<type_of<waits_with_span>, std::vector<int>>);
  CHECK(braid::detail::flow_function<type_of<waits_with_span>, std::span<const int>>);
  CHECK_FALSE(
      braid::detail::flow_function<decltype([](const std::string& text) -> task<int> { co_return text.empty(); }),
                                   const char*>);
  CHECK(braid::detail::flow_function<decltype([](const auto& text) -> task<int> { co_return text.empty(); }),
                                     std::string>);
  CHECK_FALSE(braid::detail::flow_function<std::function<task<void>(const std::string&)>, const char*>);
}

TEST_CASE("views and pointers are known to point to what goes with the run") {
  CHECK(detail::borrows<int*>);
  CHECK(detail::borrows<std::string_view>);
  CHECK(detail::borrows<std::span<int>>);
  CHECK(detail::borrows<std::reference_wrapper<int>>);
  CHECK_FALSE(detail::borrows<std::string>);
  CHECK_FALSE(detail::borrows<std::unique_ptr<int>>);
}
