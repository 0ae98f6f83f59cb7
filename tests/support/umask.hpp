// tests/support/umask.hpp: the mask of modes of new files, until the end of a block.
#pragma once

#include <filesystem>

#include <sys/stat.h>

namespace braid::testing {

class umask_for {
 public:
  explicit umask_for(::mode_t mask) noexcept : before_(::umask(mask)) {}
  umask_for(const umask_for&) = delete;
  auto operator=(const umask_for&) -> umask_for& = delete;
  ~umask_for() { ::umask(before_); }

 private:
  ::mode_t before_;
};

/// The permissions of a file, as `chmod` takes them.
inline auto mode_of(const std::filesystem::path& file) -> ::mode_t {
  return static_cast<::mode_t>(std::filesystem::status(file).permissions() & std::filesystem::perms::mask);
}

}  // namespace braid::testing
