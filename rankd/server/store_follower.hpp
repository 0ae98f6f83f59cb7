// rankd/server/store_follower.hpp: switches embedded stores to new generations while a server serves.
#pragma once

#include <rankd/server/files/serve_log.hpp>
#include <rankd/store/followed_store.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/thread.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rankd {

/// The current generation of one store, and how often the store has switched.
struct follow_counts {
  std::string endpoint_id;
  generation_state state;
  std::uint64_t changes = 0;
  std::uint64_t refused = 0;  ///< the number of failed attempts to open a generation
};

/// A thread that checks every few milliseconds whether a load has replaced the data of a store. It opens the new data
/// while the old generation still answers, and then switches the store. Each switch is logged (`store_changed`). If the
/// new data cannot be opened, this is logged once (`store_refused`), and the old generation continues to answer.
/// Threads: any.
/// Lifetime: the stores and the log outlive it.
class store_follower {
 public:
  struct target {
    std::string endpoint_id;
    followed_store* follows = nullptr;
  };

  store_follower(std::vector<target> targets, serve_log log);
  /// Ends the thread that follows the stores.
  ~store_follower();
  store_follower(const store_follower&) = delete;
  auto operator=(const store_follower&) -> store_follower& = delete;

  /// Starts the thread. After a failure, the thread waits a second before it tries again. Errors: no_runtime.
  auto start(braid::duration between = std::chrono::milliseconds(20)) -> braid::checked<void>;

  /// Checks all stores once, and switches those with new data. Returns whether each store answers from the data that
  /// its folder names. Blocks: on the disk, to read the new data.
  auto look() -> bool;

  /// Returns the counts of each store.
  [[nodiscard]] auto counts() const -> std::vector<follow_counts>;

 private:
  void run(braid::duration between);
  auto look_at(std::size_t index) -> bool;

  const std::vector<target> targets_;
  const serve_log log_;

  std::mutex looking_;                   // held by one check of all stores from start to end
  std::vector<std::string> complaints_;  // for each store, the failure that was logged, or empty; guarded by `looking_`
  mutable std::mutex mutex_;             // guards the next members
  std::condition_variable changed_;
  std::vector<follow_counts> counts_;
  bool ending_ = false;
  std::optional<braid::thread> thread_;
};

}  // namespace rankd
