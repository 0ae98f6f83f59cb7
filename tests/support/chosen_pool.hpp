// tests/support/chosen_pool.hpp: the executor that the variable BRAID_TEST_SCHEDULER of the environment names, so that
// a test compiled once runs with each scheduler of a pool, and with the executors that have no threads.
#pragma once

#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace braid::testing {

/// The value of the variable. If it is empty, `otherwise`.
inline auto chosen_name(std::string_view otherwise) -> std::string_view {
  const char* const chosen = std::getenv("BRAID_TEST_SCHEDULER");
  return chosen == nullptr ? otherwise : chosen;
}

inline auto chosen_scheduler(scheduler otherwise = scheduler::shared_queue) -> scheduler {
  const std::string_view chosen = chosen_name("");
  if (chosen.empty()) return otherwise;
  using named = std::pair<std::string_view, scheduler>;
  for (const auto& [name, value] :
       std::array{named{"work_stealing", scheduler::work_stealing}, named{"least_loaded", scheduler::least_loaded},
                  named{"shared_queue", scheduler::shared_queue}})
    if (name == chosen) return value;
  std::fprintf(stderr, "BRAID_TEST_SCHEDULER: no scheduler is named '%s'\n", chosen.data());
  std::abort();
}

/// Whether its jobs run while the thread of the test goes on.
inline auto chosen_has_threads() -> bool { return chosen_name("") != "manual" && chosen_name("") != "inline"; }

/// For cases that are about workers, or about jobs that run beside the thread of the test.
inline auto needs_threads() -> doctest::skip { return doctest::skip(!chosen_has_threads()); }

/// For cases whose jobs do not run inside of their post.
inline auto needs_queues() -> doctest::skip { return doctest::skip(chosen_name("") == "inline"); }

/// A pool with the chosen scheduler, or the chosen executor without threads, to which its options do not apply.
class chosen_pool {
 public:
  explicit chosen_pool(pool::options options = {}) {
    if (chosen_name("") == "manual")
      made_ = std::make_unique<braid::manual_executor>(std::move(options.on_error));
    else if (chosen_name("") == "inline")
      made_ = std::make_unique<inline_executor>(std::move(options.on_error));
    else
      made_ = std::make_unique<pool>(with_scheduler(std::move(options)));
  }

  operator executor&() noexcept {
    return std::visit([](auto& made) -> executor& { return *made; }, made_);
  }

  /// Requires that it is a pool.
  [[nodiscard]] auto as_pool() const noexcept -> pool& { return *std::get<std::unique_ptr<pool>>(made_); }

  /// Calls `fn` with the pool or executor by its own type.
  template <typename Fn>
  auto with(Fn&& fn) -> decltype(auto) {
    return std::visit([&fn](auto& made) -> decltype(auto) { return fn(*made); }, made_);
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t {
    const auto* const workers = std::get_if<std::unique_ptr<pool>>(&made_);
    return workers != nullptr ? (*workers)->size() : 1;
  }
  [[nodiscard]] auto is_current() const noexcept -> bool {
    return std::visit([](auto& made) { return made->is_current(); }, made_);
  }
  [[nodiscard]] auto stop_token() const noexcept -> std::stop_token {
    return std::visit([](auto& made) { return made->stop_token(); }, made_);
  }
  [[nodiscard]] auto statistics() const noexcept -> pool::totals { return as_pool().statistics(); }
  [[nodiscard]] auto settings_reports() const noexcept -> std::span<const settings_report> {
    if (!std::holds_alternative<std::unique_ptr<pool>>(made_)) return {};
    return as_pool().settings_reports();
  }
  [[nodiscard]] auto wait_idle() -> result<void> {
    return std::visit([](auto& made) { return made->wait_idle(); }, made_);
  }
  [[nodiscard]] auto shutdown(shutdown_mode mode) -> result<void> {
    return std::visit([mode](auto& made) { return made->shutdown(mode); }, made_);
  }
  [[nodiscard]] auto shutdown_for(duration limit) -> result<void> {
    return std::visit([limit](auto& made) { return made->shutdown_for(limit); }, made_);
  }

 private:
  static auto with_scheduler(pool::options options) -> pool::options {
    options.scheduler = chosen_scheduler();
    return options;
  }

  std::variant<std::unique_ptr<pool>, std::unique_ptr<braid::manual_executor>, std::unique_ptr<inline_executor>> made_;
};

/// Posts by the overload for the type that was chosen: a pool has its own.
template <typename... Args>
[[nodiscard]] auto post(chosen_pool& where, Args&&... args) -> result<void> {
  return where.with([&](auto& made) -> result<void> { return braid::post(made, std::forward<Args>(args)...); });
}
template <typename... Args>
auto spawn(chosen_pool& where, Args&&... args) {
  return where.with([&](auto& made) { return braid::spawn(made, std::forward<Args>(args)...); });
}

}  // namespace braid::testing
