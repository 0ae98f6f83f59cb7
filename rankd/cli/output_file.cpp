// rankd/cli/output_file.cpp: writing beside, and renaming.
#include <rankd/cli/output_file.hpp>

#include <rankd/cli/part_file.hpp>
#include <rankd/registry/write_file.hpp>

#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace rankd {
namespace {

namespace fs = std::filesystem;

auto owned(int descriptor) -> braid::result<braid::descriptor> {
  if (descriptor < 0) return braid::fail(braid::last_system_error());
  return braid::descriptor(descriptor);
}

}  // namespace

auto output_file::create(const fs::path& file) -> braid::result<output_file> {
  fs::path place = file;
  fs::path unfinished;
  braid::result<braid::descriptor> opened;
  std::error_code error;
  const fs::file_status there = fs::status(file, error);
  if (file.empty()) {
    opened = owned(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  } else if (fs::exists(there) && !fs::is_regular_file(there)) {
    opened = owned(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  } else {
    if (fs::exists(there)) place = fs::canonical(file, error);
    if (fs::exists(there) && error) return braid::fail(error);
    unfinished = place.string() + std::string(suffix);
    opened = open_part(unfinished, place);
    if (opened)
      if (const auto empty = empty_part(*opened, place); !empty) return braid::fail(empty.error());
  }
  if (!opened) return braid::fail(opened.error());
  return output_file(std::move(*opened), std::move(place), std::move(unfinished));
}

output_file::~output_file() {
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

auto output_file::write(std::string_view bytes) -> braid::result<void> { return write_all(file_.number(), bytes); }

auto output_file::finish() -> braid::result<void> {
  if (unfinished_.empty()) return {};
  auto done = put_in_place(file_, unfinished_, place_);
  if (done) unfinished_.clear();
  return done;
}

}  // namespace rankd
