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
  merge,    ///< these keys stay; a key in the files gets the value from the files
  replace,  ///< these keys are deleted
};

/// The steps of a load, in order.
enum class load_stage : std::uint8_t { reading, merging, syncing, switching, cleaning };

struct load_progress {
  load_stage stage = load_stage::reading;
  std::uint64_t bytes_done = 0;  ///< for all files together; returns to the last save if the load needs more memory
  std::uint64_t bytes_total = 0;
};

/// A function that a load calls once for each record of its files. It gets the key and the record.
using record_viewer = std::function<void(std::string_view key, const record_view& record)>;

struct load_options {
  load_mode mode = load_mode::merge;
  lock_wait wait = lock_wait::give_up;  ///< what to do if another load is running
  std::size_t first_map_bytes = 0;      ///< the initial size of the map; 0: estimated from the files
  std::size_t save_bytes =
      std::size_t{32}
      << 20U;  ///< the load saves its progress after this many bytes, which are kept in memory until then
  std::function<void(const load_progress&)> progress = nullptr;  ///< called at each step, and for each MiB that is read
  vector_lengths vectors = {};                                   ///< vectors of other lengths are refused
  record_viewer seen = nullptr;  ///< not called for records that an interrupted load has already read
  /// A function that is called after the last record. If the function returns diagnostics, the load changes nothing. A
  /// load with this function never continues an interrupted load, because the result of the function must cover all
  /// records.
  std::function<braid::diagnostics()> refused = nullptr;
  /// The maximum time that a load waits at its end until servers have switched to the new data. Zero means that the
  /// load does not wait.
  braid::duration wait_for_readers = braid::duration::zero();
};

struct load_report {
  std::uint64_t records = 0;     ///< records that were made from the files
  std::uint64_t kept = 0;        ///< records that were taken over from the old store
  std::uint64_t deleted = 0;     ///< deleted keys, and deleted fields of other keys, that were in the old store
  std::uint64_t generation = 0;  ///< the generation of the new store
  std::uint64_t resumed_at = 0;  ///< the number of bytes of the files that an earlier, interrupted load had read
  store_readers readers = store_readers::none;  ///< whether the servers that read the store have switched
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
  std::map<std::string, std::vector<std::byte>, std::less<>> records;  ///< the bytes are those of `record_builder`
  /// The fields to delete from each hash, sorted. If there are none, the whole key is deleted.
  std::map<std::string, std::vector<std::string>, std::less<>> deleted;
  std::vector<std::string> history;  ///< the new history of the store

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
