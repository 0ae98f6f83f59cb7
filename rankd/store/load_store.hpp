// rankd/store/load_store.hpp: fills an embedded store from NDJSON files, completely or not at all.
#pragma once

#include <rankd/store/folder.hpp>
#include <rankd/store/record.hpp>
#include <rankd/store/vector_lengths.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

class embedded_store;

/// States what a load does with keys that are in the store but not in the files.
enum class load_mode : std::uint8_t {
  merge,    ///< they stay; a key that the files name takes the value given there
  replace,  ///< they are deleted
};

/// The steps of a load, in order.
enum class load_stage : std::uint8_t { reading, merging, syncing, switching, cleaning };

struct load_progress {
  load_stage stage = load_stage::reading;
  std::uint64_t bytes_done = 0;  ///< of all files; returns to the last save if the load needs more room
  std::uint64_t bytes_total = 0;
};

/// A function that a load calls once for each record of its files, with the key.
using record_viewer = std::function<void(std::string_view key, const record_view& record)>;

struct load_options {
  load_mode mode = load_mode::merge;
  lock_wait wait = lock_wait::give_up;                           ///< what to do while another load runs
  std::size_t first_map_bytes = 0;                               ///< room to begin with; 0 for a guess from the files
  std::size_t save_bytes = std::size_t{32} << 20U;               ///< what an interruption may cost; kept in memory
  std::function<void(const load_progress&)> progress = nullptr;  ///< at each step, and for each MiB read
  vector_lengths vectors = {};                                   ///< vectors of other lengths are refused
  record_viewer seen = nullptr;  ///< not called for records that an interrupted load had read
  /// Called after the last record. If it returns diagnostics, the load changes nothing. A load with this function never
  /// continues an interrupted load, because the function must be called for all records.
  std::function<braid::diagnostics()> refused = nullptr;
  /// The maximum time that a load waits at its end until servers have switched to the new data. Zero means that the
  /// load does not wait.
  braid::duration wait_for_readers = braid::duration::zero();
};

struct load_report {
  std::uint64_t records = 0;     ///< made from the files
  std::uint64_t kept = 0;        ///< taken over from the store as it was
  std::uint64_t deleted = 0;     ///< keys, and fields of other keys, that were in the store as it was
  std::uint64_t generation = 0;  ///< of the store as it is now
  std::uint64_t resumed_at = 0;  ///< bytes of the files that an earlier load, which was interrupted, had read
  store_readers readers = store_readers::none;  ///< the servers that read the store
};

/// After this number of diagnostics about data, a load stops reading.
inline constexpr std::size_t max_load_diagnostics = 100;

/// Creates a new store from `files` (and from the contents of `folder`, in merge mode) and replaces the old store with
/// a single rename. Nothing that happens before the rename changes the old store, not even kill -9. Open stores keep
/// their contents. An interrupted load is continued by the next load if files, mode and store are the same, and if no
/// line before the interruption deletes anything. Otherwise, the next load removes the unfinished file. Deletions are
/// kept in memory. Blocks: until all data is on the disk, and then for servers that read the store.
/// Errors: diagnostics about lines (of record_parser, duplicate_key, and not_a_hash for fields of another kind of
/// record), too_many_diagnostics, data_unreadable,
/// store_foreign, store_newer, store_corrupt, store_truncated (merge mode only), store_busy, disk_full,
/// store_write_failed.
auto load_store(const std::filesystem::path& folder, std::span<const std::filesystem::path> files,
                const load_options& options) -> braid::checked<load_report>;

/// Changes to the records of a store, prepared in memory. A key must not be in both maps.
struct store_changes {
  std::map<std::string, std::vector<std::byte>, std::less<>> records;    ///< bytes of `record_builder`
  std::map<std::string, std::vector<std::string>, std::less<>> deleted;  ///< sorted fields of a hash; empty: the key
  std::vector<std::string> history;                                      ///< replaces the history of the store

  [[nodiscard]] auto is_empty() const noexcept -> bool { return records.empty() && deleted.empty(); }
};

/// Applies changes to a store as a new generation. Calls `make` with the current store, and applies the changes that
/// `make` returns. Other loads must wait until the change is done. If `make` returns no changes, changes nothing and
/// returns nothing. Blocks: until other loads have ended, and on the disk. Errors: those errors of load_store that
/// concern the store.
auto change_store(const std::filesystem::path& folder, const std::function<store_changes(const embedded_store&)>& make)
    -> braid::checked<std::optional<load_report>>;

/// Fills a store on its first use: if `folder` does not contain a store yet, loads all `*.ndjson` files of
/// `data_folder`, in the order of their names. Returns nothing if there is a store already. If several processes start
/// at once, one of them loads the files, and the others wait for it.
/// Errors: those of load_store, data_missing.
auto load_if_missing(const std::filesystem::path& folder, const std::filesystem::path& data_folder,
                     const load_options& options) -> braid::checked<std::optional<load_report>>;

}  // namespace rankd
