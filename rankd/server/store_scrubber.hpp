// rankd/server/store_scrubber.hpp: checks the files of stores for damage while a server serves.
#pragma once

#include <rankd/server/files/serve_log.hpp>
#include <rankd/store/store.hpp>

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

/// The speed at which a scrub reads.
struct scrub_pace {
  std::uint64_t bytes_per_second = std::uint64_t{16} << 20U;
  braid::duration between_rounds = std::chrono::seconds(60);  ///< from the end of a pass over the store to the next
};

/// The progress of the scrub of one store.
struct scrub_counts {
  std::string endpoint_id;
  std::uint64_t bytes = 0;
  std::uint64_t rounds = 0;  ///< complete rounds
  bool is_damaged = false;
};

/// A background scrub, as in ZFS and Btrfs. A thread reads all stores one after another, compares the bytes with their
/// checksums, and then begins again. Damage is logged once (`store_corrupt`), and the damaged store answers no more
/// batches. Stores without local files are skipped. Threads: any thread may call `counts`; one thread at a time may
/// call the other functions. Lifetime: the stores and the log outlive it.
class store_scrubber {
 public:
  struct target {
    std::string endpoint_id;
    store* reads = nullptr;
  };

  /// The number of bytes that are read at a time.
  static constexpr std::uint64_t step_bytes = std::uint64_t{1} << 20U;

  store_scrubber(std::vector<target> targets, serve_log log);
  /// Ends the thread that scrubs the stores.
  ~store_scrubber();
  store_scrubber(const store_scrubber&) = delete;
  auto operator=(const store_scrubber&) -> store_scrubber& = delete;

  /// Starts the thread, which calls `step` repeatedly. Errors: no_runtime.
  auto start(scrub_pace pace) -> braid::checked<void>;

  /// Reads one piece of one store. Sets `ends_round` in the result if this was the last piece of the last store.
  /// Blocks: on the disk.
  auto step() -> scrub_step;

  /// Returns the counts of each store, with its name.
  [[nodiscard]] auto counts() const -> std::vector<scrub_counts>;

 private:
  void run(scrub_pace pace);

  std::vector<target> targets_;
  serve_log log_;
  std::size_t next_ = 0;  // the next target; used by the thread that calls `step`

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<scrub_counts> counts_;  // the mutex guards this member and the next members
  bool ending_ = false;
  std::optional<braid::thread> thread_;
};

}  // namespace rankd
