// tests/refused/hooks.cpp: a scheduling policy whose hooks do not exist, or are missing.
#include <braid/task/basic_pool.hpp>

namespace {

/// A policy with one hook that is misspelt.
struct misspelt final : braid::shared_queue {
  using braid::shared_queue::shared_queue;
  auto tikc(braid::worker& /*self*/) noexcept -> braid::found_job override { return {}; }
};
// says: override

/// A policy with the hook of another signature.
struct mistaken final : braid::shared_queue {
  using braid::shared_queue::shared_queue;
  [[nodiscard]] auto may_park(const braid::worker& /*self*/) noexcept -> bool override { return true; }
};
// says: override

/// A policy that has no `may_park`.
struct incomplete : braid::scheduling_hooks {
  explicit incomplete(const braid::worker_list& /*workers*/) {}
  [[nodiscard]] auto place(braid::job& /*work*/, braid::worker* /*poster*/) noexcept -> braid::placement override {
    return {};
  }
  [[nodiscard]] auto refill(braid::worker& /*self*/, braid::search /*why*/) noexcept -> braid::found_job override {
    return {};
  }
  [[nodiscard]] auto empty() noexcept -> bool override { return true; }
  void close() noexcept override {}
  void drop_all() noexcept override {}
};

// says: constraint
using refused = braid::basic_pool<incomplete>;

}  // namespace
