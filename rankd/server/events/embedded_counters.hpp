// rankd/server/events/embedded_counters.hpp: values that events change by rules, for endpoints that are embedded
// stores. The values are in the server's memory.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/server/events/counter_writer.hpp>
#include <rankd/server/events/event_log.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/server/files/serve_log.hpp>
#include <rankd/store/counted_values.hpp>

#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/thread/thread.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// The file name of the snapshot. The snapshot is stored in the folder of the log.
inline constexpr std::string_view counters_snapshot_file = "counters.snapshot";

struct embedded_counters_options {
  std::filesystem::path folder;                     ///< the folder of the event log
  std::size_t max_bytes = std::size_t{256} << 20U;  ///< the maximum memory for all values
  /// The time during which an event_id counts once, as in the log.
  std::chrono::milliseconds window = std::chrono::hours(1);
  std::chrono::milliseconds between_snapshots = std::chrono::minutes(1);
  counted_values::clock now = {};  ///< replaces the system's clock
  serve_log log = {};              ///< receives messages about everything that prevents exact counts
};

/// The values of rules whose endpoints are embedded stores. They depend only on the log. `add` receives events that are
/// durable, with their position in the log. A snapshot contains the values and the position up to which events are
/// counted. When a server starts, it reads the snapshot, and then counts the rest of the log. So each event counts
/// once, whenever the process ends. If a snapshot is damaged or belongs to another log, it is ignored, and all events
/// in the existing files are counted again (`counters_recounted`).
/// Threads: only the log's thread may call `add`; any thread may call the other functions. Lifetime: rules, registries
/// and the file of `log` outlive it.
class embedded_counters {
 public:
  /// Creates the values without reading the log. Returns null if no rule writes to an embedded store.
  [[nodiscard]] static auto make(const event_rules& rules, const registries& declared,
                                 embedded_counters_options options) -> std::unique_ptr<embedded_counters>;
  /// Calls `end`, which writes a last snapshot.
  ~embedded_counters();
  embedded_counters(const embedded_counters&) = delete;
  auto operator=(const embedded_counters&) -> embedded_counters& = delete;

  /// Returns the values that readers overlay on the store of an endpoint. Returns null if no rule writes to the
  /// endpoint. `endpoint` is a position in registries::endpoints.
  [[nodiscard]] auto find_values(std::size_t endpoint) const -> std::shared_ptr<const counted_values>;

  /// Counts the events in the log, and starts to write snapshots regularly. Requires that the log is open. Blocks: on
  /// the disk. Errors: those of reading the snapshot and the files of the log; no_runtime.
  auto start() -> braid::checked<void>;

  /// Applies the steps whose values are in embedded stores. Blocks: while a snapshot copies the values, about 1 s for
  /// 256 MiB of values; never on a disk.
  void add(const std::vector<rule_step>& steps, event_position after);

  /// Writes a snapshot. Blocks: on the disk. Errors: those of the system. After an error, the previous snapshot still
  /// exists.
  auto write_snapshot() -> braid::result<void>;

  /// Writes the last snapshot. Called while the folder of the log is still locked; `add` must not be called afterwards.
  void end();

  [[nodiscard]] auto counts() const -> counter_counts;
  [[nodiscard]] auto hashes() const -> std::size_t;  ///< number of values of all endpoints
  [[nodiscard]] auto bytes() const -> std::size_t;   ///< memory in bytes of all endpoints
  [[nodiscard]] auto snapshots_failed() const -> std::uint64_t { return snapshots_failed_.load(braid::relaxed); }

 private:
  embedded_counters(const event_rules& rules, const registries& declared, embedded_counters_options options)
      : rules_(&rules), declared_(&declared), options_(std::move(options)) {}

  auto take_snapshot() -> braid::checked<std::string_view>;
  auto count_log() -> braid::checked<void>;
  void count_step(const rule_step& step);
  auto make_room(const rule_step& step) -> bool;
  auto sweep(std::chrono::milliseconds now) -> bool;
  void work();

  const event_rules* rules_;
  const registries* declared_;
  embedded_counters_options options_;
  std::map<std::size_t, std::shared_ptr<counted_values>> hashes_;  // by the position of the endpoint

  std::mutex counting_;  // held to change values and to copy all of them; guards the next two members
  event_position until_;
  std::chrono::milliseconds swept_{0};

  std::mutex saving_;  // held to write a snapshot; guards the next members
  event_position saved_;

  // The following values are written only while `counting_` or `saving_` is held. Metrics read them without a lock.
  braid::atomic<std::uint64_t> written_{0};
  braid::atomic<std::uint64_t> lost_{0};
  braid::atomic<std::uint64_t> snapshots_failed_{0};
  bool is_full_ = false;  // whether it was reported that the memory is full; guarded by `counting_`

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool ending_ = false;
  std::optional<braid::thread> saver_;
};

}  // namespace rankd
