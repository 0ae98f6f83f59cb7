// rankd/store/data_writer.hpp: writing the data file of one generation, before anybody reads it.
#pragma once

#include <rankd/store/record.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

struct MDB_env;
struct MDB_txn;

namespace rankd {

/// A file that takes records in any order.
/// Threads: one. Errors: store_errc::full where the map is too small, and what the system says.
class data_writer {
 public:
  /// Begins a new file. `map_bytes` is the most that it may grow to.
  static auto create(const std::filesystem::path& file, std::size_t map_bytes) -> braid::result<data_writer>;

  /// Stores a record, unless the key has one already: then that one is returned and nothing changes.
  /// Requires a key of 1 to 511 bytes. Lifetime: of the returned view, until the next call.
  auto put(std::string_view key, std::span<const std::byte> record) -> braid::result<std::optional<record_view>>;

  /// Makes everything durable and closes the file; its size in bytes. Nothing may be put afterwards.
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

  auto begin() -> braid::result<void>;
  auto commit() -> braid::result<void>;

  std::filesystem::path file_;
  std::unique_ptr<MDB_env, close_environment> environment_;
  std::unique_ptr<MDB_txn, end_transaction> transaction_;
  std::uint32_t database_ = 0;
  std::size_t uncommitted_ = 0;  ///< bytes put since the last commit
};

}  // namespace rankd
