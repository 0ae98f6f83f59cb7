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

/// An open generation of an embedded store. Its file never changes: a later load writes another file. Readers see that
/// file when they open the store again.
/// Threads: any number may take snapshots at once. Lifetime: must outlive its snapshots.
class embedded_store {
 public:
  class snapshot;
  class cursor;

  /// The key of the history. It sorts after the keys of all records, because the keys of records are UTF-8.
  static constexpr std::string_view history_key = "\xfe";

  /// Opens the store in `folder`. Before LMDB reads the file, every block is compared with its checksum from the load.
  /// This is necessary because LMDB follows the pointers in a damaged page, even if they point outside of the file. The
  /// size of the file is checked first, because reading a missing page would end the process by SIGBUS. A store of
  /// format 1 has no checksums, and is opened without this check.
  /// Blocks: on the disk, to read the whole file; about 0.2 s for each GiB if the file is in memory. Takes no lock, so
  /// a load may run at the same time.
  /// Errors: those of read_manifest, store_truncated, store_corrupt with the first block that is damaged.
  static auto open(const std::filesystem::path& folder) -> braid::checked<embedded_store>;

  /// Returns a snapshot for reading. Cost: about 0.2 us. Errors: store_errc::corrupt after `scrub` has found a damaged
  /// block.
  [[nodiscard]] auto take_snapshot() const -> braid::result<snapshot>;

  [[nodiscard]] auto manifest() const noexcept -> const store_manifest& { return manifest_; }
  /// Returns the time at which the load wrote the data file, counted since 1970.
  [[nodiscard]] auto made() const noexcept -> std::chrono::milliseconds { return guard_->made; }

  /// Reads the next blocks of the file again, up to `max_bytes` bytes but at least one block, and compares them with
  /// their checksums. After the last block, it begins again with the first block. Does nothing if the store has no
  /// checksums, or after it has found a damaged block. Threads: one at a time; other threads may read the store at the
  /// same time. Blocks: on the disk.
  auto scrub(std::uint64_t max_bytes) -> scrub_step;

  /// Returns the damage that `scrub` has found, if any. If there is damage, `take_snapshot` fails.
  /// Threads: any.
  [[nodiscard]] auto damage() const -> std::optional<block_damage>;

 private:
  struct close_environment {
    void operator()(MDB_env* environment) const noexcept;
  };
  using environment_ptr = std::unique_ptr<MDB_env, close_environment>;

  /// The file and its checksums, which `scrub` compares.
  struct guard {
    braid::descriptor file;
    std::optional<block_checksums> sums;    ///< not set in a store of format 1
    std::chrono::milliseconds made{0};      ///< when the file was written
    std::uint64_t next_block = 0;           ///< the block at which the scrub continues
    block_damage found;                     ///< written once, by the scrub
    braid::atomic<bool> is_damaged{false};  // written by the scrub and never reset; if it is true, `found` is set
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

/// A view of one generation that reads records in place, without copies.
/// Threads: one at a time; a snapshot may be moved to another thread. Lifetime: views are valid as long as the store is
/// open.
class embedded_store::snapshot {
 public:
  /// Returns the record of a key, or nothing if there is no such record. Cost: below 1 us if the page is in memory.
  [[nodiscard]] auto find(std::string_view key) const -> braid::result<std::optional<record_view>>;

  /// Walks over all keys that are not less than `first`, in bytewise order. Lifetime: the snapshot must outlive the
  /// cursor.
  [[nodiscard]] auto walk(std::string_view first = {}) const -> braid::result<cursor>;

  /// Returns the number of keys.
  [[nodiscard]] auto count() const -> braid::result<std::uint64_t>;

  /// Returns the history that `change_store` stores with the data, or nothing if there is no history.
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
  std::string first_;  ///< the first key; empty after the first step, or to begin at the first key of the store
};

}  // namespace rankd
