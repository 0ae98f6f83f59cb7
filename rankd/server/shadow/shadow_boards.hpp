// rankd/server/shadow/shadow_boards.hpp: the candidate plans that run as shadows, by the names of the served plans.
#pragma once

#include <rankd/registry/shadows.hpp>
#include <rankd/server/shadow/shadow_board.hpp>

#include <braid/sync/atomic.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace rankd {

/// The boards of all candidates. A reload can replace them while requests run. Threads: any.
/// Lifetime: a returned board exists as long as the caller keeps it, so that a run is counted on the board on which it
/// began.
class shadow_boards {
 public:
  using list = std::vector<std::shared_ptr<shadow_board>>;

  /// Returns the board of a plan, or null if the plan has no candidate. Cost: one atomic load if no plan has a
  /// candidate. Otherwise, a lock that all loops share.
  [[nodiscard]] auto find(std::string_view plan) const -> std::shared_ptr<shadow_board>;

  /// Returns the boards of all candidates. Never null.
  [[nodiscard]] auto all() const -> std::shared_ptr<const list>;

  /// Replaces the candidates. A candidate that remains keeps its counts. Returns false if nothing has changed.
  /// Threads: one at a time.
  auto replace(const std::vector<shadow_settings>& next) -> bool;

 private:
  mutable std::mutex lock_;  // held to look up a name, and to copy or exchange the pointer
  std::shared_ptr<const list> now_ = std::make_shared<const list>();
  braid::atomic<std::size_t> count_{
      0};  // the size of `now_`, written by `replace`: if it is not 0, requests lock the mutex
};

}  // namespace rankd
