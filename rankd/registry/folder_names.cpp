// rankd/registry/folder_names.cpp: lists a folder with system calls.
#include <rankd/registry/folder_names.hpp>

#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

#include <dirent.h>

namespace rankd {

auto folder_names(const std::filesystem::path& folder) -> braid::result<std::vector<std::string>> {
  const auto close = [](::DIR* open) { ::closedir(open); };
  const std::unique_ptr<::DIR, decltype(close)> open(::opendir(folder.c_str()), close);
  if (open == nullptr) return braid::fail(std::error_code(errno, std::generic_category()));
  std::vector<std::string> out;
  for (;;) {
    errno = 0;
    const ::dirent* const next = ::readdir(open.get());
    if (next == nullptr) break;
    const std::string_view name = next->d_name;
    if (name != "." && name != "..") out.emplace_back(name);
  }
  if (errno != 0) return braid::fail(std::error_code(errno, std::generic_category()));
  return out;
}

}  // namespace rankd
