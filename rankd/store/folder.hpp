// rankd/store/folder.hpp: the folder of an embedded store: what it must contain, and how it changes all at once.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace rankd {

/// The manifest of a store's folder. Each load writes a data file of its own, `data-<generation>.mdb`, that never
/// changes again; replacing the manifest is the one step that makes it the store.
struct store_manifest {
  static constexpr std::uint32_t format = 2;
  static constexpr std::string_view file_name = "rankd-store";

  std::uint64_t generation = 0;
  std::uint64_t data_bytes = 0;  ///< size of the data file; a file of another size is never mapped
  /// The digest of the data file's block checksums; nothing in a store of format 1, which has no checksums.
  std::optional<std::uint32_t> checksums = std::nullopt;

  auto operator==(const store_manifest&) const -> bool = default;
};

/// Reads the manifest of `folder`.
/// Errors: store_missing (nothing there, or a first load that never ended), store_foreign (not a store),
/// store_newer (a later format), store_corrupt, store_unreadable.
auto read_manifest(const std::filesystem::path& folder) -> braid::checked<store_manifest>;

/// Computes the checksums of the finished data file of a generation and writes them next to it. Returns the manifest
/// that names both. Requires the lock.
/// Blocks: reads the file, and until the disk has the checksums.
auto seal_generation(const std::filesystem::path& folder, std::uint64_t generation) -> braid::result<store_manifest>;

/// Replaces the manifest of `folder`. After a crash at any point, the folder has the old or the new manifest, and the
/// data file of that one is complete. Requires the lock.
/// Blocks: until the disk has it.
auto write_manifest(const std::filesystem::path& folder, store_manifest manifest) -> braid::result<void>;

auto data_file(const std::filesystem::path& folder, std::uint64_t generation) -> std::filesystem::path;
auto checksums_file(const std::filesystem::path& folder, std::uint64_t generation) -> std::filesystem::path;

/// Deletes the data files of other generations, and their checksums. Requires the lock. Readers that have one open keep
/// it.
void remove_other_generations(const std::filesystem::path& folder, std::uint64_t keep);

/// The hint for a damaged store.
inline constexpr std::string_view load_again_hint = "delete the folder and load the data again";

/// Returns one diagnostic about a store, with the folder as its source.
auto store_diagnostic(std::string_view code, const std::filesystem::path& folder, std::string_view message,
                      std::string_view hint) -> braid::diagnostics;

enum class lock_wait : std::uint8_t { give_up, until_free };

/// The right to write into a store's folder. One process holds it, and loses it when it dies.
class folder_lock {
 public:
  /// Blocks: with until_free, until the other holder is done. Errors: EWOULDBLOCK with give_up.
  static auto acquire(const std::filesystem::path& folder, lock_wait wait) -> braid::result<folder_lock>;

 private:
  explicit folder_lock(braid::descriptor folder) noexcept : folder_(std::move(folder)) {}

  braid::descriptor folder_;
};

}  // namespace rankd
