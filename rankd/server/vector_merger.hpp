// rankd/server/vector_merger.hpp: merges changed vectors of embedded stores into files of vectors while a server
// serves.
#pragma once

#include <rankd/engine/plans/plan_library.hpp>
#include <rankd/server/files/serve_log.hpp>
#include <rankd/store/embedded.hpp>
#include <rankd/store/followed_store.hpp>
#include <rankd/store/vector_claims.hpp>
#include <rankd/store/vector_file.hpp>
#include <rankd/store/vector_merge.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/thread/thread.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rankd {

/// The state of one file of vectors, and how often changes were merged into it.
struct merge_counts {
  std::string endpoint_id;
  std::uint64_t generation = 0;  ///< files that this process has served one after the other
  std::uint64_t listed = 0;      ///< ids in the list of changes
  std::uint64_t merges = 0;
  std::uint64_t failures = 0;  ///< attempts to merge, to open a merged file, or to shorten the list, that failed
  braid::duration merging{};   ///< time spent in merges, failed ones included
};

/// A thread that keeps lists of changed vectors short. When a list (`vector_changes_policy`) has `merge_at` ids or
/// more, the thread makes a new file of vectors, which contains the changes. Then it removes these ids from the list:
/// 1. It writes the new file and renames it to the name of the old file.
/// 2. It publishes plans that use the new file (`plan_library::reload_vectors`). Requests that run keep the old file.
/// 3. When no request of any process uses an older file, it removes each id from the list whose vector the file has.
///
/// Before and after each step, the file and the list together have the same vectors. So the process may be killed at
/// any time: a list that still has merged ids is shortened by the next process. An id that changes during a merge
/// differs from the file, and stays in the list. Each step begins with a comparison of the list and the file, and needs
/// no memory of the steps before it.
///
/// One process at a time merges into a file (`vector_claims`); the others open the new file. A failure is logged once
/// for each cause (`vectors_not_merged`), and is tried again after a pause that grows from 1 s to 5 minutes.
///
/// Threads: any thread may call `counts`; one at a time may call the rest. A merge computes on one thread, at a low
/// priority. Lifetime: the stores, the library and the log outlive it.
class vector_merger {
 public:
  struct target {
    std::string endpoint_id;
    std::filesystem::path file;
    vector_changes_policy list;
    const followed_store* store = nullptr;
  };

  /// The end of a step of a merge.
  enum class merge_step : std::uint8_t { written, published, shortened };

  static constexpr braid::duration first_pause = std::chrono::seconds(1);  ///< after a failure
  static constexpr braid::duration max_pause = std::chrono::minutes(5);

  /// Calls `on_step`, if given, after each step, so that tests can interrupt a merge there.
  vector_merger(std::vector<target> targets, plan_library& plans, serve_log log,
                std::function<void(merge_step)> on_step = {});
  /// Cancels a running merge, and ends the thread.
  ~vector_merger();
  vector_merger(const vector_merger&) = delete;
  auto operator=(const vector_merger&) -> vector_merger& = delete;

  /// Opens files that other processes have merged since the plans were loaded, claims the served files, and starts the
  /// thread. Must be called before requests are served. Blocks: on the disk. Errors: no_runtime.
  auto start(braid::duration between = std::chrono::seconds(1)) -> braid::checked<void>;

  /// Looks at each file and its list once, and merges if that is necessary. `now` decides whether a pause after a
  /// failure is over. Blocks: on the disk, and as long as merges take.
  void look(braid::time_point now);

  /// Cancels a running merge. Later calls of `look` do nothing. Threads: any.
  void cancel() noexcept;

  /// Returns the state of each file.
  [[nodiscard]] auto counts() const -> std::vector<merge_counts>;

 private:
  /// One file with its list. Used by the thread that looks.
  struct place {
    target of;
    std::optional<vector_claims> claims = {};
    std::vector<std::string> claimed = {};           ///< digests
    std::string served = {};                         ///< the digest of the last file that was served
    std::shared_ptr<const vector_file> opened = {};  ///< the file, while its list cannot be shortened yet
    std::string complaint = {};                      ///< the failure that was logged; empty: none
    braid::duration pause{};                         ///< before the last attempt; zero: the last one succeeded
    braid::time_point not_before{};                  ///< of the next attempt
    std::size_t index = 0;                           ///< in `counts_`
  };

  void run(braid::duration between);
  void attempt(place& at, braid::time_point now, braid::checked<void> (vector_merger::*step)(place&));
  auto follow_file(place& at) -> braid::checked<void>;
  auto open_file(place& at) -> braid::checked<std::shared_ptr<const vector_file>>;
  auto follow(place& at) -> braid::checked<std::string>;
  auto claim_used(place& at, const std::string& digest) -> braid::checked<void>;
  auto follow_and_merge(place& at) -> braid::checked<void>;
  auto merge_list(place& at) -> braid::checked<void>;
  auto merge(place& at, const vector_file& base, std::vector<listed_vector> listed) -> braid::checked<void>;
  auto shorten(place& at, const vector_file& file) -> braid::checked<void>;
  [[nodiscard]] auto may_shorten(place& at, const std::string& digest) -> braid::checked<bool>;
  void succeed(place& at);
  void fail(place& at, const braid::diagnostic& why, braid::time_point now);
  void after(merge_step done) const;
  template <typename Change>
  void count(const place& at, const Change& change);

  plan_library& plans_;
  const serve_log log_;
  const std::function<void(merge_step)> on_step_;
  std::vector<place> places_;

  braid::atomic<bool> is_cancelled_{false};  // true for good
  mutable std::mutex mutex_;                 // guards the next members
  std::condition_variable changed_;
  std::vector<merge_counts> counts_;
  bool ending_ = false;
  std::optional<braid::thread> thread_;
};

}  // namespace rankd
