// rankd/store/vector_claims.hpp: the versions of a file of vectors that processes use, and the lock for merging into
// it.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>

#include <filesystem>
#include <string_view>
#include <utility>

namespace rankd {

/// The lock file of a file of vectors, FILE.lock. Each process that uses the file claims the versions that its requests
/// may use. So a process that has merged changes into a new version knows when no request uses a version without these
/// changes any more. All locks end with the process. The lock file is empty, and is not deleted when the processes end.
/// Threads: a single thread. Blocks: on the disk.
class vector_claims {
 public:
  /// Opens the lock file of a file of vectors, and creates it if it does not exist. Errors: those of the system, for
  /// instance if the folder is read-only.
  static auto open(const std::filesystem::path& file) -> braid::result<vector_claims>;

  /// Claims the version with this digest, in addition to earlier claims. May be called again for the same version.
  auto claim(std::string_view digest) -> braid::result<void>;
  /// Ends a claim. Does nothing if this version is not claimed.
  auto release(std::string_view digest) -> braid::result<void>;
  /// Returns whether another process claims any version except the one with this digest.
  [[nodiscard]] auto has_others(std::string_view digest) const -> braid::result<bool>;

  /// Acquires the lock for merging, which one process at a time holds. Returns false if another process holds it.
  auto try_lock() -> braid::result<bool>;
  void unlock() noexcept;

 private:
  explicit vector_claims(braid::descriptor file) noexcept : file_(std::move(file)) {}

  braid::descriptor file_;
};

}  // namespace rankd
