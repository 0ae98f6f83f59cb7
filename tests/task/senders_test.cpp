// tests/task/senders_test.cpp: the stop source of braid's own std::execution, and its queries.
#include <braid/task/senders.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <optional>

using namespace braid;

namespace {

static_assert(std::same_as<execution::stop_token_of_t<braid::detail::empty_env>, execution::never_stop_token>);
static_assert(!execution::sender<int> && !execution::receiver<int> && !execution::scheduler<int>);

}  // namespace

TEST_CASE("a stop source calls each callback once, those that come later at once, and none that has left") {
  execution::inplace_stop_source source;
  int called = 0;
  const auto count = [&called] { ++called; };
  using callback = execution::inplace_stop_callback<decltype(count)>;
  const callback first(source.get_token(), count);
  { const callback left(source.get_token(), count); }
  const callback second(source.get_token(), count);
  CHECK(!source.get_token().stop_requested());
  CHECK(source.request_stop());
  CHECK(called == 2);
  CHECK(!source.request_stop());
  const callback late(source.get_token(), count);
  CHECK(called == 3);
  CHECK(source.stop_requested());
  CHECK(!execution::inplace_stop_token().stop_possible());
}

TEST_CASE("a stop callback may destroy itself, and one that has not been called yet") {
  execution::inplace_stop_source source;
  struct many {
    struct leave {
      void operator()() const noexcept {
        ++of->called;
        of->first.reset();
        of->second.reset();
      }
      many* of;
    };
    std::optional<execution::inplace_stop_callback<leave>> first;
    std::optional<execution::inplace_stop_callback<leave>> second;
    int called = 0;
  } all;
  all.first.emplace(source.get_token(), many::leave{&all});
  all.second.emplace(source.get_token(), many::leave{&all});
  source.request_stop();
  CHECK(all.called == 1);
}
