// rankd/store/data_writer.hpp: writing the data file of one generation, before any reader reads it.
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

/// A file that takes records in any order. What was saved survives kill -9 and a loss of power, and is gone on with by
/// opening the file again.
/// Threads: one. Errors: store_errc::full where the map is too small, and what the system says.
class data_writer {
 public:
  /// Begins a new file. `map_bytes` is the most that it may grow to.
  static auto create(const std::filesystem::path& file, std::size_t map_bytes) -> braid::result<data_writer>;

  /// Opens a file that was begun and not finished, as it was when it was saved the last time.
  /// Errors: also store_errc::corrupt where the file is no such thing.
  static auto reopen(const std::filesystem::path& file, std::size_t map_bytes) -> braid::result<data_writer>;

  /// Stores a record, unless the key has one already: then that one is returned and nothing changes.
  /// Requires a key of 1 to 511 bytes. Lifetime: of the returned view, until the next call.
  auto put(std::string_view key, std::span<const std::byte> record) -> braid::result<std::optional<record_view>>;

  /// Bytes put since the file was saved; they are kept in memory.
  [[nodiscard]] auto unsaved() const noexcept -> std::size_t { return unsaved_; }

  /// Makes durable what was put, and a note with it.
  /// Blocks: on the disk.
  auto save(std::string_view note) -> braid::result<void>;

  /// The note of the last save; empty where there is none.
  auto note() -> braid::result<std::string>;

  /// Makes everything durable, without the note, and closes the file; its size in bytes. Nothing may be put afterwards.
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
