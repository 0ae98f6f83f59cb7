// rankd/store/folder.hpp: the folder of an embedded store: its files, and how a load replaces its contents atomically.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace rankd {

/// The manifest of a store's folder. Each load writes a new data file, `data-<generation>.mdb`, that never changes
/// afterwards. The load then replaces the manifest. From this moment on, the new file is the store.
struct store_manifest {
  static constexpr std::uint32_t format = 2;
  static constexpr std::string_view file_name = "rankd-store";

  std::uint64_t generation = 0;
  std::uint64_t data_bytes = 0;  ///< the size of the data file; a file of another size is never mapped
  /// The digest of the data file's block checksums. Not set in a store of format 1, which has no checksums.
  std::optional<std::uint32_t> checksums = std::nullopt;

  auto operator==(const store_manifest&) const -> bool = default;
};

/// Reads the manifest of `folder`.
/// Errors: store_missing (there is no store, or the first load has not been completed), store_foreign (the folder is
/// not a store), store_newer (the store has a later format), store_corrupt, store_unreadable.
auto read_manifest(const std::filesystem::path& folder) -> braid::checked<store_manifest>;

/// Computes the checksums of the finished data file of a generation, and writes a file of checksums next to the data
/// file. Returns the manifest that names both files. The caller must hold the lock. Blocks: on the disk, to read the
/// file and to write the checksums.
auto seal_generation(const std::filesystem::path& folder, std::uint64_t generation) -> braid::result<store_manifest>;

/// Replaces the manifest of `folder`. After a crash at any point, the folder has the old or the new manifest, and the
/// data file named in the manifest is complete. The caller must hold the lock. Blocks: until the manifest is on the
/// disk.
auto write_manifest(const std::filesystem::path& folder, store_manifest manifest) -> braid::result<void>;

auto data_file(const std::filesystem::path& folder, std::uint64_t generation) -> std::filesystem::path;
auto checksums_file(const std::filesystem::path& folder, std::uint64_t generation) -> std::filesystem::path;

/// Deletes the data files and the checksums of all generations except `keep`. The caller must hold the lock. Readers
/// that have opened a deleted file can still read it.
void remove_other_generations(const std::filesystem::path& folder, std::uint64_t keep);

/// The hint for a damaged store.
inline constexpr std::string_view load_again_hint = "delete the folder and load the data again";

/// Returns one diagnostic about a store, with the folder as its source.
auto store_diagnostic(std::string_view code, const std::filesystem::path& folder, std::string_view message,
                      std::string_view hint) -> braid::diagnostics;

/// A reader's claim on the generation that a folder names: a shared lock on the file of the manifest. The lock ends
/// with the process. After a load has replaced the manifest, the load can wait until no reader claims the old manifest
/// (`replaced_manifest`).
class manifest_use {
 public:
  /// Claims the generation that the manifest of `folder` names. Returns nothing if a load is replacing the manifest. A
  /// file system without locks grants all claims.
  /// Errors: those of read_manifest.
  static auto of(const std::filesystem::path& folder) -> braid::checked<std::optional<manifest_use>>;

  /// Returns whether `folder` still names this generation. Cost: two system calls.
  [[nodiscard]] auto is_current(const std::filesystem::path& folder) const -> bool;
  [[nodiscard]] auto manifest() const noexcept -> const store_manifest& { return manifest_; }

 private:
  manifest_use(braid::descriptor file, store_manifest manifest) noexcept
      : file_(std::move(file)), manifest_(manifest) {}

  braid::descriptor file_;
  store_manifest manifest_;
};

/// States whether the servers that read a store have switched to the generation of a load.
enum class store_readers : std::uint8_t {
  none,     ///< no server reads the store
  changed,  ///< all servers answer from the new generation
  behind,   ///< a server has not switched to the new generation in time
};

/// The manifest that a load is about to replace. After the load has replaced it, the load waits until no server claims
/// this old manifest.
class replaced_manifest {
 public:
  /// Opens the manifest of `folder`, if there is one.
  explicit replaced_manifest(const std::filesystem::path& folder);

  /// Waits until all servers have switched to the new manifest. Blocks: at most for `patience`.
  [[nodiscard]] auto wait_for_readers(braid::duration patience) const -> store_readers;

 private:
  [[nodiscard]] auto is_claimed() const -> bool;

  braid::descriptor file_;
  bool had_readers_ = false;
};

enum class lock_wait : std::uint8_t { give_up, until_free };

/// A lock for writing into a store's folder. Only one process at a time can hold it. The lock ends with the process.
class folder_lock {
 public:
  /// Acquires the lock. If another process holds the lock, `until_free` blocks until that process releases it, and
  /// `give_up` fails with EWOULDBLOCK.
  static auto acquire(const std::filesystem::path& folder, lock_wait wait) -> braid::result<folder_lock>;

 private:
  explicit folder_lock(braid::descriptor folder) noexcept : folder_(std::move(folder)) {}

  braid::descriptor folder_;
};

}  // namespace rankd
