// tests/rankd/server/slow_trace.hpp: a trace of the last seconds that is not made before the test says so.
#pragma once

#include <rankd/server/serve_options.hpp>

#include <braid/sync/atomic.hpp>

#include <latch>
#include <memory>
#include <string>

namespace rankd::testing {

/// The first call for it waits; later ones get it at once.
class slow_trace {
 public:
  [[nodiscard]] auto options() const -> serve_options {
    serve_options out;
    out.last_seconds = [all = all_](braid::duration) -> braid::result<std::string> {
      if (!all->is_asked.exchange(true, braid::seq_cst)) {
        all->asked.count_down();
        all->made.wait();
      }
      return std::string("the trace");
    };
    return out;
  }

  /// Blocks: until it is being made.
  void wait() const { all_->asked.wait(); }
  /// It is made.
  void finish() const { all_->made.count_down(); }

 private:
  struct state {
    braid::atomic<bool> is_asked{false};
    std::latch asked{1};
    std::latch made{1};
  };

  std::shared_ptr<state> all_ = std::make_shared<state>();
};

}  // namespace rankd::testing
