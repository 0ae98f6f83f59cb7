// rankd/server/records/record_writer.hpp: writes records that clients send. Each write creates a new generation of an
// embedded store.
#pragma once

#include <rankd/store/followed_store.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/vector_lengths.hpp>

#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The outcome of a call to change records.
struct record_outcome {
  enum class result_kind : std::uint8_t {
    written,
    repeated,  ///< a call with this id was written before
    refused,   ///< a line is invalid
    reused,    ///< a call with this id was written before, with other records
    failed,    ///< the store could not be written
    unserved,  ///< the changes were written, but this process cannot answer from them
  };

  result_kind result = result_kind::written;
  braid::diagnostics problems = {};  ///< why the call was refused or has failed; empty if there was no memory
  std::uint64_t generation = 0;      ///< the generation that contains the changes
  std::uint64_t records = 0;         ///< the number of lines that set a record
  std::uint64_t deletions = 0;       ///< the number of lines that delete something
};

/// Counts of calls by their outcome.
struct record_counts {
  std::uint64_t written = 0;   ///< written calls
  std::uint64_t repeated = 0;  ///< repeated calls
  std::uint64_t refused = 0;   ///< refused calls, including those that reused an id
  std::uint64_t failed = 0;    ///< failed calls, including those that were written but are not served
};

/// Applies the changes of calls to an embedded store. Either all changes of a call are made, or none of them. Writing a
/// generation costs as much as copying the store. So all calls that arrive while a generation is being written are
/// combined into the next generation, in the order of their arrival. Each generation contains the ids of the last
/// calls. So a call with an id is applied once, even if a process ends, or if another server receives the same call
/// again.
/// Threads: any. Lifetime: the store outlives it.
class record_writer {
 public:
  using clock = std::function<std::chrono::milliseconds()>;

  static constexpr std::size_t max_ids = 10'000;  ///< the maximum number of ids that are remembered
  static constexpr std::chrono::milliseconds id_window = std::chrono::hours(24);
  /// The maximum length of an id, which consists of printable ASCII without blanks.
  static constexpr std::size_t max_id = 128;

  /// Constructs a writer. Before a call is answered, `serve_now` is called if the store does not yet answer from the
  /// generation of that call. `now` returns the time since 1970. If `now` is empty, the system's time is used.
  record_writer(const followed_store& into, vector_lengths vectors, std::function<void()> serve_now, clock now = {});
  record_writer(const record_writer&) = delete;
  auto operator=(const record_writer&) -> record_writer& = delete;

  /// Applies the lines of a call. An empty `id` means that the call has no id.
  /// Blocks: on the disk, for this call and for earlier calls. Errors, which are in the outcome: those of
  /// record_parser, duplicate_key, not_a_hash, empty_body, too_many_diagnostics; id_reused; those of change_store;
  /// store_unreadable.
  auto apply(std::string_view id, std::string_view lines) -> record_outcome;

  [[nodiscard]] auto counts() const noexcept -> record_counts;
  /// Returns the number of calls that wait for the generation that is being written.
  [[nodiscard]] auto waiting() const -> std::size_t;

 private:
  struct call;
  struct group;

  void write(const std::vector<call*>& calls) noexcept;
  void write_group(const std::vector<call*>& calls);
  auto is_ahead(const call& one) const noexcept -> bool;
  void count(const record_outcome& outcome) noexcept;

  const followed_store* into_;
  const vector_lengths vectors_;
  const std::function<void()> serve_now_;
  const clock now_;

  std::mutex writing_;        // held while a generation is written
  mutable std::mutex mutex_;  // guards the next member
  std::vector<call*> waiting_;
  braid::atomic<std::uint64_t> written_{0};
  braid::atomic<std::uint64_t> repeated_{0};
  braid::atomic<std::uint64_t> refused_{0};
  braid::atomic<std::uint64_t> failed_{0};
};

}  // namespace rankd
