// rankd/store/data_writer.hpp: writes the data file of one generation, before any reader opens it.
#pragma once

#include <rankd/store/record.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

struct MDB_env;
struct MDB_txn;

namespace rankd {

/// A file that accepts records in any order. Saved records survive kill -9 and a power failure; the file can then be
/// opened again and continued. Threads: a single thread. Errors of all functions: store_errc::full if the map is too
/// small; those of the system.
class data_writer {
 public:
  /// Creates a new file. It may grow to `map_bytes`.
  static auto create(const std::filesystem::path& file, std::size_t map_bytes) -> braid::result<data_writer>;

  /// Opens an unfinished file. Its contents are those of the last save.
  /// Additional error: store_errc::corrupt if the file is not an unfinished data file.
  static auto reopen(const std::filesystem::path& file, std::size_t map_bytes) -> braid::result<data_writer>;

  /// Stores a record under a key that has no record yet. If the key has a record already, returns that record and does
  /// not change it. Requires a key of 1 to 511 bytes. Lifetime: the returned view is valid until the next call.
  auto put(std::string_view key, std::span<const std::byte> record) -> braid::result<std::optional<record_view>>;

  /// Returns the record of a key, or nothing. Lifetime: the view is valid until the next call.
  auto find(std::string_view key) -> braid::result<std::optional<record_view>>;

  /// Returns the number of bytes that were added since the last save. Unsaved bytes are kept in memory.
  [[nodiscard]] auto unsaved() const noexcept -> std::size_t { return unsaved_; }

  /// Makes all records that were stored so far durable, together with `note`. The note can be read when the file is
  /// opened again.
  /// Blocks: on the disk.
  auto save(std::string_view note) -> braid::result<void>;

  /// Returns the note of the last save. Returns an empty text if there is no note.
  auto note() -> braid::result<std::string>;

  /// Makes all records durable and removes the note. Closes the file and returns its size in bytes. No record can be
  /// added afterwards.
  /// Blocks: on the disk.
  auto finish() -> braid::result<std::uint64_t>;

 private:
  struct close_environment {
    void operator()(MDB_env* environment) const noexcept;
  };
  struct end_transaction {
    void operator()(MDB_txn* transaction) const noexcept;
  };

  data_writer(std::filesystem::path file, MDB_env* environment) noexcept
      : file_(std::move(file)), environment_(environment) {}

  static auto open(const std::filesystem::path& file, std::size_t map_bytes, unsigned flags)
      -> braid::result<data_writer>;
  [[nodiscard]] auto is_whole() const -> bool;
  auto begin() -> braid::result<void>;
  auto commit() -> braid::result<void>;

  std::filesystem::path file_;
  std::unique_ptr<MDB_env, close_environment> environment_;
  std::unique_ptr<MDB_txn, end_transaction> transaction_;
  std::uint32_t database_ = 0;
  std::size_t unsaved_ = 0;
};

}  // namespace rankd
