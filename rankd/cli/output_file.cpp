// rankd/cli/output_file.cpp: writing beside, and renaming.
#include <rankd/cli/output_file.hpp>

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace rankd {
namespace {

namespace fs = std::filesystem;

/// A new name is on the disk once its folder is.
auto sync_folder_of(const fs::path& file) -> bool {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool done = ::fsync(descriptor) == 0;
  ::close(descriptor);
  return done;
}

}  // namespace

auto output_file::create(const fs::path& file) -> braid::result<output_file> {
  if (file.empty()) return output_file(STDOUT_FILENO, {}, {});
  std::error_code error;
  const fs::file_status there = fs::status(file, error);
  const bool plain = !fs::exists(there) || fs::is_regular_file(there);
  const fs::path place = fs::exists(there) ? fs::canonical(file, error) : file;
  if (fs::exists(there) && error) return braid::fail(error);
  fs::path unfinished;
  if (plain) unfinished = place.string() + "." + std::to_string(::getpid()) + ".part";
  const int descriptor =
      ::open((plain ? unfinished : place).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
  if (descriptor < 0) return braid::fail(braid::last_system_error());
  return output_file(descriptor, place, std::move(unfinished));
}

output_file::~output_file() {
  if (descriptor_ >= 0 && !place_.empty()) ::close(descriptor_);
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

auto output_file::write(std::string_view bytes) -> braid::result<void> {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return braid::fail(braid::last_system_error());
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

auto output_file::finish() -> braid::result<void> {
  if (place_.empty()) return {};
  const bool safe = unfinished_.empty() || ::fsync(descriptor_) == 0;
  if (!safe) return braid::fail(braid::last_system_error());
  if (::close(std::exchange(descriptor_, -1)) != 0) return braid::fail(braid::last_system_error());
  if (unfinished_.empty()) return {};
  if (::rename(unfinished_.c_str(), place_.c_str()) != 0) return braid::fail(braid::last_system_error());
  unfinished_.clear();
  if (!sync_folder_of(place_)) return braid::fail(braid::last_system_error());
  return {};
}

}  // namespace rankd
