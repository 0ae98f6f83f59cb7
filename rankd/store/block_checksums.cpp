// rankd/store/block_checksums.cpp: reads a file block by block and compares each block with its checksum.
#include <rankd/store/block_checksums.hpp>

#include <rankd/registry/write_file.hpp>
#include <rankd/store/crc32c.hpp>
#include <rankd/store/error.hpp>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rankd {
namespace {

constexpr std::uint64_t block_bytes = block_checksums::block_bytes;
constexpr std::uint64_t blocks_at_once = 16;  // one read of 1 MiB

auto count_blocks(std::uint64_t bytes) -> std::uint64_t { return bytes / block_bytes + (bytes % block_bytes != 0); }

/// Fills `buffer` from the file. Errors: the error of the system call, or io_error if the file ends before the buffer
/// is full.
auto read_fully(const braid::descriptor& file, std::span<std::byte> buffer, std::uint64_t from) -> braid::result<void> {
  while (!buffer.empty()) {
    const ::ssize_t got = ::pread(file.number(), buffer.data(), buffer.size(), static_cast<::off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return braid::fail(braid::last_system_error());
    if (got == 0) return braid::fail(std::make_error_code(std::errc::io_error));
    buffer = buffer.subspan(static_cast<std::size_t>(got));
    from += static_cast<std::uint64_t>(got);
  }
  return {};
}

/// The block that could not be read, and the reason.
struct read_failure {
  std::uint64_t block = 0;
  std::error_code why;
};

/// Calls `each(block, checksum)` for `count` blocks of a file of `bytes` bytes, and stops if `each` returns false.
/// Reads the file instead of mapping it, because reading a damaged block returns an error, but an access to such a
/// block in a mapped file would raise SIGBUS.
template <typename Each>
auto read_blocks(const braid::descriptor& file, std::uint64_t bytes, std::uint64_t first, std::uint64_t count,
                 Each&& each) -> std::optional<read_failure> {
  const auto room = std::make_unique_for_overwrite<std::byte[]>(block_bytes * std::min(count, blocks_at_once));
  const std::uint64_t end = first + count;
  while (first < end) {
    const std::uint64_t from = first * block_bytes;
    std::span<std::byte> piece(room.get(), std::min(std::min(end - first, blocks_at_once) * block_bytes, bytes - from));
    if (auto done = read_fully(file, piece, from); !done) {
      // Reads the blocks of the piece one by one to find the unreadable block, because the other blocks may be
      // readable.
      if (piece.size() <= block_bytes) return read_failure{first, done.error()};
      piece = piece.first(block_bytes);
      if (done = read_fully(file, piece, from); !done) return read_failure{first, done.error()};
    }
    for (; !piece.empty(); piece = piece.subspan(std::min<std::size_t>(block_bytes, piece.size())))
      if (!each(first++, crc32c(piece.first(std::min<std::size_t>(block_bytes, piece.size()))))) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

auto block_damage::to_string() const -> std::string {
  const std::string place =
      "block " + std::to_string(block) + " (bytes " + std::to_string(first_byte) + " to " + std::to_string(last_byte);
  if (unreadable) return place + ") cannot be read: " + unreadable.message();
  return place + ") does not match its checksum";
}

auto block_checksums::take(const braid::descriptor& file, std::uint64_t bytes) -> braid::result<block_checksums> {
  block_checksums taken(bytes);
  taken.sums_.reserve(count_blocks(bytes));
  const auto failed = read_blocks(file, bytes, 0, count_blocks(bytes), [&](std::uint64_t, std::uint32_t sum) {
    taken.sums_.push_back(sum);
    return true;
  });
  if (failed) return braid::fail(failed->why);
  return taken;
}

auto block_checksums::read(const std::filesystem::path& from, std::uint64_t bytes, std::uint32_t digest)
    -> braid::result<block_checksums> {
  const braid::descriptor file(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct ::stat found{};
  if (!file || ::fstat(file.number(), &found) != 0) return braid::fail(braid::last_system_error());
  block_checksums kept(bytes);
  // Checks the size first, because a wrong manifest must not cause an arbitrarily large allocation.
  if (static_cast<std::uint64_t>(found.st_size) != count_blocks(bytes) * sizeof(std::uint32_t))
    return braid::fail(store_errc::corrupt);
  kept.sums_.resize(count_blocks(bytes));
  if (auto done = read_fully(file, std::as_writable_bytes(std::span(kept.sums_)), 0); !done)
    return braid::fail(done.error());
  if (kept.digest() != digest) return braid::fail(store_errc::corrupt);
  return kept;
}

auto block_checksums::write(const std::filesystem::path& to) const -> braid::result<void> {
  const auto raw = std::as_bytes(std::span(sums_));
  return write_file(to, {reinterpret_cast<const char*>(raw.data()), raw.size()});
}

auto block_checksums::digest() const noexcept -> std::uint32_t { return crc32c(std::as_bytes(std::span(sums_))); }

auto block_checksums::find_damage(const braid::descriptor& file, std::uint64_t first, std::uint64_t count) const
    -> std::optional<block_damage> {
  std::optional<std::uint64_t> other;
  const auto failed = read_blocks(file, bytes_, first, count, [&](std::uint64_t block, std::uint32_t sum) {
    if (sum != sums_[block]) other = block;
    return !other;
  });
  if (!failed && !other) return std::nullopt;
  const std::uint64_t block = failed ? failed->block : *other;
  return block_damage{.block = block,
                      .first_byte = block * block_bytes,
                      .last_byte = std::min((block + 1) * block_bytes, bytes_) - 1,
                      .unreadable = failed ? failed->why : std::error_code()};
}

}  // namespace rankd
