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

/// The state of one file of vectors, and the number of merges into it.
struct merge_counts {
  std::string endpoint_id;
  std::uint64_t generation = 0;  ///< the number of files that this process has served one after the other
  std::uint64_t listed = 0;      ///< ids in the list of changes
  std::uint64_t merges = 0;
  /// The number of failed attempts to merge, to open a merged file, or to shorten the list.
  std::uint64_t failures = 0;
  braid::duration merging{};  ///< the time that merges took, including failed ones
};

/// A thread that keeps lists of changed vectors short. When a list (`vector_changes_policy`) has `merge_at` ids or
/// more, the thread merges its vectors into the file of vectors and shortens the list, in three steps:
/// 1. It writes a new file that contains the changes, and renames it to the name of the old file.
/// 2. It publishes plans that use the new file (`plan_library::reload_vectors`). Running requests keep the old file.
/// 3. When no request of any process uses an older file, it removes each id from the list whose vector is in the file.
///
/// Before and after each step, the file and the list together represent the same vectors. So the process may be killed
/// at any time: if the list still contains merged ids, the next process removes them. If the vector of an id changes
/// during a merge, it differs from the vector in the file, so the id stays in the list. Each step begins by comparing
/// the list with the file, and does not rely on the results of earlier steps.
///
/// Only one process at a time merges into a file (`vector_claims`). All other processes open the new file. A failure is
/// logged once for each cause (`vectors_not_merged`). After a failure, the merge is tried again after a pause, which
/// grows from 1 s to 5 minutes.
///
/// Threads: any thread may call `counts`; one thread at a time may call the other functions. A merge computes on one
/// thread, at a low priority. Lifetime: the stores, the library and the log outlive it.
class vector_merger {
 public:
  struct target {
    std::string endpoint_id;
    std::filesystem::path file;
    vector_changes_policy list;
    const followed_store* store = nullptr;
  };

  /// The steps of a merge, each named after its result.
  enum class merge_step : std::uint8_t { written, published, shortened };

  static constexpr braid::duration first_pause = std::chrono::seconds(1);  ///< after a failure
  static constexpr braid::duration max_pause = std::chrono::minutes(5);

  /// The merger calls `on_step`, if given, after each step, so that tests can interrupt a merge there.
  vector_merger(std::vector<target> targets, plan_library& plans, serve_log log,
                std::function<void(merge_step)> on_step = {});
  /// Cancels a running merge, and ends the thread.
  ~vector_merger();
  vector_merger(const vector_merger&) = delete;
  auto operator=(const vector_merger&) -> vector_merger& = delete;

  /// Opens files that other processes have merged since the plans were loaded, claims the served files, and starts the
  /// thread. Must be called before requests are served. Blocks: on the disk. Errors: no_runtime.
  auto start(braid::duration between = std::chrono::seconds(1)) -> braid::checked<void>;

  /// Checks each file and its list once, and merges if necessary. `now` determines whether a pause after a failure is
  /// over. Blocks: on the disk, and until the merges are done.
  void look(braid::time_point now);

  /// Cancels a running merge. Later calls of `look` do nothing. Threads: any.
  void cancel() noexcept;

  /// Returns the state of each file.
  [[nodiscard]] auto counts() const -> std::vector<merge_counts>;

 private:
  /// One file with its list. Only the thread that calls `look` uses it.
  struct place {
    target of;
    std::optional<vector_claims> claims = {};
    std::vector<std::string> claimed = {};           ///< digests of the claimed versions
    std::string served = {};                         ///< the digest of the last file that was served
    std::shared_ptr<const vector_file> opened = {};  ///< the new file, until its list was shortened
    std::string complaint = {};                      ///< the failure that was logged, or empty
    braid::duration pause{};         ///< the pause before the last attempt; zero if the last attempt succeeded
    braid::time_point not_before{};  ///< the earliest time of the next attempt
    std::size_t index = 0;           ///< the position in `counts_`
  };

  void run(braid::duration between);
  void attempt(place& entry, braid::time_point now, braid::checked<void> (vector_merger::*step)(place&));
  auto follow_file(place& entry) -> braid::checked<void>;
  auto open_file(place& entry) -> braid::checked<std::shared_ptr<const vector_file>>;
  auto follow(place& entry) -> braid::checked<std::string>;
  auto claim_used(place& entry, const std::string& digest) -> braid::checked<void>;
  auto follow_and_merge(place& entry) -> braid::checked<void>;
  auto merge_list(place& entry) -> braid::checked<void>;
  auto merge(place& entry, const vector_file& base, std::vector<listed_vector> listed) -> braid::checked<void>;
  auto shorten(place& entry, const vector_file& file) -> braid::checked<void>;
  [[nodiscard]] auto may_shorten(place& entry, const std::string& digest) -> braid::checked<bool>;
  void succeed(place& entry);
  void fail(place& entry, const braid::diagnostic& problem, braid::time_point now);
  void after(merge_step done) const;
  template <typename Change>
  void count(const place& entry, const Change& change);

  plan_library& plans_;
  const serve_log log_;
  const std::function<void(merge_step)> on_step_;
  std::vector<place> places_;

  braid::atomic<bool> is_cancelled_{false};  // never reset
  mutable std::mutex mutex_;                 // guards the next members
  std::condition_variable changed_;
  std::vector<merge_counts> counts_;
  bool ending_ = false;
  std::optional<braid::thread> thread_;
};

}  // namespace rankd
