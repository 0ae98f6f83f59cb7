// rankd/server/shadow/shadow_boards.hpp: the candidates that run beside plans, by the names of these.
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

/// Candidates that a reload replaces while requests run. Threads: any.
/// Lifetime: a board that was given out lives for as long as it is held, so what began for it ends with it.
class shadow_boards {
 public:
  using list = std::vector<std::shared_ptr<shadow_board>>;

  /// That of a plan; null where no candidate runs beside it. Cost: one load where no plan has a candidate, otherwise
  /// a lock that all loops want, for a comparison of names.
  [[nodiscard]] auto find(std::string_view plan) const -> std::shared_ptr<shadow_board>;

  /// All of them. Not null.
  [[nodiscard]] auto all() const -> std::shared_ptr<const list>;

  /// From now on these. A candidate that stays beside its plan keeps its counts. False where nothing has changed.
  /// Threads: one at a time.
  auto replace(const std::vector<shadow_settings>& next) -> bool;

 private:
  mutable std::mutex lock_;  // held to look a name up, to copy or to exchange the pointer
  std::shared_ptr<const list> now_ = std::make_shared<const list>();
  braid::atomic<std::size_t> count_{0};  // of `now_`, written by `replace`: a hint for requests, which take the lock
};

}  // namespace rankd
