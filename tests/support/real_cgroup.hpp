// tests/support/real_cgroup.hpp: a cgroup of a test's own on this machine, where the machine allows one.
#pragma once

#include <tests/support/eventually.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace braid::testing {

/// Removed when the test ends; by then no process may be in it.
class real_cgroup {
 public:
  /// A new cgroup below `parent` that has the file `needed`; null where the system refuses it.
  static auto make(const std::filesystem::path& parent, const char* needed) -> std::unique_ptr<real_cgroup> {
    const std::filesystem::path folder = parent / ("braid_test_" + std::to_string(::getpid()));
    std::error_code refused;
    if (!std::filesystem::exists(parent / "cgroup.procs", refused)) return nullptr;
    if (!std::filesystem::create_directory(folder, refused)) return nullptr;
    auto group = std::unique_ptr<real_cgroup>(new real_cgroup(folder));
    return std::filesystem::exists(folder / needed, refused) ? std::move(group) : nullptr;
  }
  real_cgroup(const real_cgroup&) = delete;
  auto operator=(const real_cgroup&) -> real_cgroup& = delete;
  ~real_cgroup() {
    static_cast<void>(eventually([&] { return ::rmdir(path_.c_str()) == 0; }));
  }

  [[nodiscard]] auto path() const noexcept -> const std::filesystem::path& { return path_; }

  /// Whether the system took the text.
  [[nodiscard]] auto write(const char* file, std::string_view text) const -> bool {
    const int descriptor = ::open((path_ / file).c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    const ::ssize_t taken = ::write(descriptor, text.data(), text.size());
    ::close(descriptor);
    return taken == static_cast<::ssize_t>(text.size());
  }

 private:
  explicit real_cgroup(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace braid::testing
