// rankd/cli/output_file.cpp: writing beside, and renaming.
#include <rankd/cli/output_file.hpp>

#include <rankd/registry/write_file.hpp>

#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace rankd {
namespace fs = std::filesystem;

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

auto output_file::write(std::string_view bytes) -> braid::result<void> { return write_all(descriptor_, bytes); }

auto output_file::finish() -> braid::result<void> {
  if (place_.empty()) return {};
  const bool safe = unfinished_.empty() || ::fsync(descriptor_) == 0;
  if (!safe) return braid::fail(braid::last_system_error());
  if (::close(std::exchange(descriptor_, -1)) != 0) return braid::fail(braid::last_system_error());
  if (unfinished_.empty()) return {};
  if (::rename(unfinished_.c_str(), place_.c_str()) != 0) return braid::fail(braid::last_system_error());
  unfinished_.clear();
  return sync_folder_of(place_);
}

}  // namespace rankd
