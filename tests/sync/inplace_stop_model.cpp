// tests/sync/inplace_stop_model.cpp: under no schedule is a stop callback called twice, missed, or called after it
// left.
#include <braid/sync/detail/inplace_stop.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <optional>
#include <string>

namespace model = braid::model;
using braid::execution::inplace_stop_callback;
using braid::execution::inplace_stop_source;

namespace {

struct touch {
  void operator()() const noexcept { *called = *called + 1; }
  model::shared<int>* called;
};

/// A thread that has destroyed its callback owns what the callback uses.
void leave_while_called(model::run& r) {
  inplace_stop_source source;
  model::shared<int> called{0};
  r.thread([&] {
    { const inplace_stop_callback<touch> callback(source.get_token(), touch{&called}); }
    called = called + 10;
    r.check(called == 10 || called == 11, "once, or not at all");
  });
  r.thread([&] { r.check(source.request_stop(), "it is the only request"); });
  r.join();
}

/// A callback that is added while the stop is requested is called by one side.
void add_while_requested(model::run& r) {
  inplace_stop_source source;
  model::shared<int> called{0};
  model::shared<int> reason{0};
  std::optional<inplace_stop_callback<touch>> callback;
  r.thread([&] {
    callback.emplace(source.get_token(), touch{&called});
    if (source.stop_requested()) r.check(reason == 7, "what was written before the request is seen");
  });
  r.thread([&] {
    reason = 7;
    source.request_stop();
  });
  r.join();
  r.check(called == 1, "called once");
}

/// One of two requests calls the callback.
void request_twice(model::run& r) {
  inplace_stop_source source;
  model::shared<int> called{0};
  model::shared<int> wins{0};
  const inplace_stop_callback<touch> callback(source.get_token(), touch{&called});
  for (int i = 0; i < 2; ++i)
    r.thread([&] {
      if (source.request_stop()) wins = wins + 1;
    });
  r.join();
  r.check(wins == 1 && called == 1, "one request wins");
}

constexpr model::options bounds{.preemptions = 3};

}  // namespace

TEST_CASE("a callback that leaves is not running any more, and is not called afterwards") {
  const model::report all = model::explore_all(bounds, leave_while_called);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("a callback that comes while a stop is requested is called once") {
  const model::report all = model::explore_all(bounds, add_while_requested);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("of two requests one wins") {
  const model::report all = model::explore_all(bounds, request_twice);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("each memory order of the stop source is needed") {
  CHECK(model::orders_not_needed("inplace_stop.hpp", bounds, {leave_while_called, add_while_requested}) == "");
}
