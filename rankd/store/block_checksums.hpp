// rankd/store/block_checksums.hpp: a checksum of each block of a data file, computed by the load and verified by
// readers.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rankd {

/// A damaged block: its bytes have changed since they were written, or cannot be read.
struct block_damage {
  std::uint64_t block = 0;  ///< counted from 0
  std::uint64_t first_byte = 0;
  std::uint64_t last_byte = 0;
  /// The system's error if the block cannot be read. No error if the block was read, but its checksum differs.
  std::error_code unreadable;

  /// Returns a sentence such as "block 17 (bytes 1114112 to 1179647) has another checksum than when it was written".
  [[nodiscard]] auto to_string() const -> std::string;
};

/// The progress of one step of a scrub.
struct scrub_step {
  std::uint64_t bytes = 0;
  bool ends_round = false;  ///< whether the scrub has read everything since the pass began
};

/// The CRC-32C of each block of a file. One, two or three flipped bits in a block always change its checksum, and so
/// does a burst of up to 32 bits. Other damage stays undetected with a probability of one in 2^32.
/// Threads: any, once constructed.
class block_checksums {
 public:
  static constexpr std::size_t block_bytes = std::size_t{64} << 10U;

  /// Returns the checksums of the first `bytes` bytes of a file.
  /// Blocks: on the disk, to read all bytes; about 5 GiB/s if they are in memory. Errors: those of the system; io_error
  /// if the file is shorter.
  static auto take(const braid::descriptor& file, std::uint64_t bytes) -> braid::result<block_checksums>;

  /// Reads the checksums that `write` wrote for a data file of `bytes` bytes.
  /// Errors: those of the system; store_errc::corrupt if the file of checksums has the wrong size, or if its own
  /// checksum differs from `digest`.
  static auto read(const std::filesystem::path& from, std::uint64_t bytes, std::uint32_t digest)
      -> braid::result<block_checksums>;

  /// Writes the checksums to a file. Blocks: until they are on the disk.
  [[nodiscard]] auto write(const std::filesystem::path& to) const -> braid::result<void>;

  /// Returns the checksum of all block checksums.
  [[nodiscard]] auto digest() const noexcept -> std::uint32_t;
  [[nodiscard]] auto blocks() const noexcept -> std::uint64_t { return sums_.size(); }
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return bytes_; }

  /// Checks `count` blocks, beginning with block `first`. Returns the first block whose bytes in `file` have changed,
  /// or nothing if all blocks are unchanged. Requires that these blocks exist. Blocks: on the disk, to read the blocks.
  [[nodiscard]] auto find_damage(const braid::descriptor& file, std::uint64_t first, std::uint64_t count) const
      -> std::optional<block_damage>;
  [[nodiscard]] auto find_damage(const braid::descriptor& file) const -> std::optional<block_damage> {
    return find_damage(file, 0, blocks());
  }

 private:
  explicit block_checksums(std::uint64_t bytes) noexcept : bytes_(bytes) {}

  std::uint64_t bytes_;
  std::vector<std::uint32_t> sums_;
};

}  // namespace rankd
