// tests/coro/execution_model.cpp: under no schedule does the sender of a future complete twice, never, or while a stop
// still uses it.
#include <braid/coro/execution.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace model = braid::model;
namespace execution = braid::execution;

namespace {

struct ended {
  model::shared<int> count{0};
  model::shared<int> value{0};
};

struct env {
  [[nodiscard]] auto query(execution::get_stop_token_t /*which*/) const noexcept { return token; }
  execution::inplace_stop_token token;
};

/// Frees the operation when it completes, as an operation that owns itself does.
class receiver {
 public:
  using receiver_concept = execution::receiver_t;

  receiver(ended& into, execution::inplace_stop_token token) : into_(&into), token_(token) {}

  void set_value(int value) && noexcept {
    into_->value = value;
    into_->count = into_->count + 1;
  }
  void set_error(const std::exception_ptr& /*error*/) && noexcept { into_->count = into_->count + 100; }
  void set_stopped() && noexcept { into_->count = into_->count + 1; }
  [[nodiscard]] auto get_env() const noexcept -> env { return {token_}; }

 private:
  ended* into_;
  execution::inplace_stop_token token_;
};

/// The start, the value and the stop on a thread each.
void start_value_stop(model::run& r) {
  execution::inplace_stop_source source;
  ended end;
  braid::promise<int> made;
  auto work = execution::connect(braid::as_sender(made.get_future()), receiver(end, source.get_token()));
  r.thread([&] { execution::start(work); });
  r.thread([&] { static_cast<void>(made.set_value(5)); });
  r.thread([&] { source.request_stop(); });
  r.join();
  r.check(end.count == 1 && end.value == 5, "it completes once, with the value");
}

/// A stop and the value after the start.
void value_against_stop(model::run& r) {
  execution::inplace_stop_source source;
  ended end;
  braid::promise<int> made;
  auto work = execution::connect(braid::as_sender(made.get_future()), receiver(end, source.get_token()));
  execution::start(work);
  r.thread([&] { static_cast<void>(made.set_value(5)); });
  r.thread([&] { source.request_stop(); });
  r.join();
  r.check(end.count == 1 && end.value == 5, "it completes once, with the value");
}

}  // namespace

TEST_CASE("a future that is fulfilled while a stop is passed on completes once") {
  const model::report all = model::explore_all({.preemptions = 3}, value_against_stop);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("start, value and stop may come in any order") {
  const model::report all = model::explore_all({.preemptions = 2}, start_value_stop);
  CHECK(all.failure == "");
  CHECK(all.complete);
}
