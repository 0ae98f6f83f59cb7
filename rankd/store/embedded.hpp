// rankd/store/embedded.hpp: hashes and lists in a memory-mapped file, opened for reading.
#pragma once

#include <rankd/store/block_checksums.hpp>
#include <rankd/store/folder.hpp>
#include <rankd/store/record.hpp>

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>
#include <braid/sync/atomic.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct MDB_env;
struct MDB_txn;
struct MDB_cursor;

namespace rankd {

struct store_entry {
  std::string_view key;
  record_view record;
};

/// A load of a store, as it was when this was opened. The file under it never changes: a later load makes another file,
/// which is seen by opening the store again.
/// Threads: any number may take snapshots at once. Lifetime: must outlive its snapshots.
class embedded_store {
 public:
  class snapshot;
  class cursor;

  /// The key of what is kept with the data, behind all keys of records, which are UTF-8.
  static constexpr std::string_view history_key = "\xfe";

  /// Opens the store in `folder`. Every block of its file is compared with the checksum that the load took, before LMDB
  /// sees any of it: LMDB follows the pointers in a page, even out of the file. The size is checked first: a page
  /// missing at the end would end the process by SIGBUS at the first read. A store of format 1 has no checksums, and is
  /// opened without them.
  /// Blocks: reads the whole file, about 0.2 s a GiB if it is in memory. No lock is taken, so a load may run meanwhile.
  /// Errors: those of read_manifest, store_truncated, store_corrupt with the first block that is damaged.
  static auto open(const std::filesystem::path& folder) -> braid::checked<embedded_store>;

  /// Returns the right to read. Cost: about 0.2 us. Errors: store_errc::corrupt once there is `damage`.
  [[nodiscard]] auto take_snapshot() const -> braid::result<snapshot>;

  [[nodiscard]] auto manifest() const noexcept -> const store_manifest& { return manifest_; }
  /// Returns when the load wrote the data file, counted from 1970.
  [[nodiscard]] auto made() const noexcept -> std::chrono::milliseconds { return guard_->made; }

  /// Reads the next blocks of the file again, `max_bytes` bytes or one block, and compares them with their checksums;
  /// starts over at the end. Does nothing without checksums, and once there is damage.
  /// Threads: one at a time; others may read meanwhile. Blocks: on the disk.
  auto scrub(std::uint64_t max_bytes) -> scrub_step;

  /// Returns the damage that `scrub` has found; nothing if it has found no damage. Once there is damage, no more
  /// snapshots are taken.
  /// Threads: any.
  [[nodiscard]] auto damage() const -> std::optional<block_damage>;

 private:
  struct close_environment {
    void operator()(MDB_env* environment) const noexcept;
  };
  using environment_ptr = std::unique_ptr<MDB_env, close_environment>;

  /// The file and its checksums, for the scrub.
  struct guard {
    braid::descriptor file;
    std::optional<block_checksums> sums;    ///< nothing in a store of format 1
    std::chrono::milliseconds made{0};      ///< when the file was written
    std::uint64_t next_block = 0;           ///< of the scrub
    block_damage found;                     ///< written by the scrub, once
    braid::atomic<bool> is_damaged{false};  // written by the scrub: true for good, `found` is there
  };

  embedded_store(environment_ptr environment, std::uint32_t database, store_manifest manifest) noexcept
      : environment_(std::move(environment)), database_(database), manifest_(manifest) {}

  static auto open_once(const std::filesystem::path& folder, store_manifest manifest)
      -> braid::checked<std::optional<embedded_store>>;
  static auto map(const std::filesystem::path& folder, store_manifest manifest) -> braid::checked<embedded_store>;

  environment_ptr environment_;
  std::uint32_t database_;
  store_manifest manifest_;
  std::unique_ptr<guard> guard_;
};

/// Reads records in place.
/// Threads: one at a time; may move between threads. Lifetime: views are valid as long as the store is open.
class embedded_store::snapshot {
 public:
  /// Returns the record of a key, or nothing. Cost: below 1 us for a page in memory.
  [[nodiscard]] auto find(std::string_view key) const -> braid::result<std::optional<record_view>>;

  /// Walks over all keys that are not less than `first`, bytewise ascending. Lifetime: the snapshot must outlive the
  /// cursor.
  [[nodiscard]] auto walk(std::string_view first = {}) const -> braid::result<cursor>;

  /// Returns the number of keys.
  [[nodiscard]] auto count() const -> braid::result<std::uint64_t>;

  /// Returns the texts that `change_store` keeps with the data; nothing if there are none.
  [[nodiscard]] auto history() const -> braid::result<std::optional<record_view>> { return find(history_key); }

 private:
  friend class embedded_store;
  struct end_transaction {
    void operator()(MDB_txn* transaction) const noexcept;
  };

  snapshot(MDB_txn* transaction, std::uint32_t database) noexcept : transaction_(transaction), database_(database) {}

  std::unique_ptr<MDB_txn, end_transaction> transaction_;
  std::uint32_t database_;
};

class embedded_store::cursor {
 public:
  /// Returns the next entry, or nothing at the end.
  auto next() -> braid::result<std::optional<store_entry>>;

 private:
  friend class snapshot;
  struct close_cursor {
    void operator()(MDB_cursor* handle) const noexcept;
  };

  cursor(MDB_cursor* handle, std::string_view first) : handle_(handle), first_(first) {}

  std::unique_ptr<MDB_cursor, close_cursor> handle_;
  std::string first_;  ///< the first key; empty once begun, or to begin at the very first
};

}  // namespace rankd
