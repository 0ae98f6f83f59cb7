// tests/rankd/store/block_checksums_test.cpp: which block is damaged, and what is no list of checksums.
#include <rankd/store/block_checksums.hpp>

#include <rankd/store/error.hpp>

#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <string>

#include <fcntl.h>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;
namespace fs = std::filesystem;

constexpr std::size_t block = block_checksums::block_bytes;

auto opened(const fs::path& file) -> braid::descriptor {
  return braid::descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
}

/// Bytes of which no two blocks are the same.
auto text_of(std::size_t size) -> std::string {
  std::string text(size, '\0');
  for (std::size_t at = 0; at < size; ++at) text[at] = static_cast<char>(at * 31 + at / 253);
  return text;
}

}  // namespace

TEST_CASE("files of any size have a checksum of each block, which are written and read back") {
  const scratch_folder folder;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, block - 1, block, block + 1, 16 * block, 20 * block + 7}) {
    const braid::descriptor file = opened(folder.write("data", text_of(size)));
    const auto taken = block_checksums::take(file, size);
    REQUIRE(taken.has_value());
    CHECK(taken->blocks() == (size + block - 1) / block);
    CHECK(taken->bytes() == size);
    CHECK_FALSE(taken->find_damage(file).has_value());
    REQUIRE(taken->write(folder.path() / "sums").has_value());
    const auto kept = block_checksums::read(folder.path() / "sums", size, taken->digest());
    REQUIRE(kept.has_value());
    CHECK_FALSE(kept->find_damage(file).has_value());
    CHECK(kept->digest() == taken->digest());
  }
}

TEST_CASE("the first damaged block is named with its bytes, within the blocks that were asked for") {
  const scratch_folder folder;
  const std::size_t size = 20 * block + 7;
  const std::string text = text_of(size);
  const auto sums = block_checksums::take(opened(folder.write("data", text)), size);
  REQUIRE(sums.has_value());
  for (const std::size_t bad : {std::size_t{0}, std::size_t{15}, std::size_t{16}, std::size_t{20}}) {
    std::string damaged = text;
    damaged[bad * block + 3] = static_cast<char>(damaged[bad * block + 3] ^ 4);
    damaged[size - 1] = static_cast<char>(damaged[size - 1] ^ 1);
    const braid::descriptor file = opened(folder.write("data", damaged));
    const auto found = sums->find_damage(file);
    REQUIRE(found.has_value());
    CHECK(found->block == bad);
    CHECK(found->first_byte == bad * block);
    CHECK(found->last_byte == std::min((bad + 1) * block, size) - 1);
    CHECK_FALSE(found->unreadable);
    CHECK(found->to_string() == "block " + std::to_string(bad) + " (bytes " + std::to_string(found->first_byte) +
                                    " to " + std::to_string(found->last_byte) + ") does not match its checksum");
    CHECK_FALSE(sums->find_damage(file, 0, bad).has_value());
    CHECK(sums->find_damage(file, bad, 1).has_value());
  }
}

TEST_CASE("a block that cannot be read is named, and why") {
  const scratch_folder folder;
  const std::size_t size = 8 * block;
  const fs::path data = folder.write("data", text_of(size));
  const auto sums = block_checksums::take(opened(data), size);
  REQUIRE(sums.has_value());
  fs::resize_file(data, 5 * block + 1);
  const auto found = sums->find_damage(opened(data));
  REQUIRE(found.has_value());
  CHECK(found->block == 5);
  CHECK(found->unreadable == std::errc::io_error);
  CHECK(found->to_string().starts_with("block 5 (bytes 327680 to 393215) cannot be read: "));
  CHECK(block_checksums::take(opened(data), size).error() == std::errc::io_error);
  CHECK(sums->find_damage(opened(folder.path()))->unreadable == std::errc::is_a_directory);
}

TEST_CASE("checksums of another size, with another digest, or that are no file are refused") {
  const scratch_folder folder;
  const auto sums = block_checksums::take(opened(folder.write("data", text_of(3 * block))), 3 * block);
  const fs::path kept = folder.path() / "sums";
  REQUIRE(sums->write(kept).has_value());
  CHECK(block_checksums::read(kept, 2 * block, sums->digest()).error() == store_errc::corrupt);
  CHECK(block_checksums::read(kept, ~std::uint64_t{0}, sums->digest()).error() == store_errc::corrupt);
  CHECK(block_checksums::read(kept, 3 * block, sums->digest() + 1).error() == store_errc::corrupt);
  CHECK(block_checksums::read(folder.path() / "absent", 3 * block, 0).error() == std::errc::no_such_file_or_directory);
  CHECK_FALSE(block_checksums::read(folder.path(), 3 * block, 0).has_value());
  CHECK(sums->write(folder.path() / "absent" / "sums").error() == std::errc::no_such_file_or_directory);
}
