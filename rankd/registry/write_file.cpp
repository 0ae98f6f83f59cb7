// rankd/registry/write_file.cpp: writes and syncs files, and replaces files by rename.
#include <rankd/registry/write_file.hpp>

#include <braid/io/backend.hpp>

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace rankd {
namespace {

namespace fs = std::filesystem;

auto sync_descriptor(const braid::descriptor& handle) -> braid::result<void> {
  if (!handle || ::fsync(handle.number()) != 0) return braid::fail(braid::last_system_error());
  return {};
}

}  // namespace

auto write_all(int descriptor, std::string_view bytes) -> braid::result<void> {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return braid::fail(braid::last_system_error());
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

auto write_file(const fs::path& file, std::string_view bytes) -> braid::result<void> {
  // Opens without blocking: if the path is a pipe, the call does not wait for a reader.
  const braid::descriptor handle(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0640));
  if (!handle) return braid::fail(braid::last_system_error());
  if (auto done = write_all(handle.number(), bytes); !done) return done;
  return sync_descriptor(handle);
}

auto sync_folder(const fs::path& folder) -> braid::result<void> {
  return sync_descriptor(braid::descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
}

auto sync_parent_folder(const fs::path& file) -> braid::result<void> {
  return sync_folder(file.has_parent_path() ? file.parent_path() : fs::path("."));
}

auto create_durable_folder(const fs::path& folder) -> braid::result<bool> {
  std::vector<fs::path> missing;
  std::error_code error;
  fs::path last = fs::absolute(folder, error).lexically_normal();
  if (!last.has_filename()) last = last.parent_path();
  for (fs::path at = last; !at.empty() && !fs::exists(at, error) && at != at.root_path(); at = at.parent_path())
    missing.push_back(at);
  const bool is_new = fs::create_directories(folder, error);
  if (error) return braid::fail(error);
  if (missing.empty()) static_cast<void>(sync_parent_folder(last));  // may be forbidden for a folder of somebody else
  for (const fs::path& each : missing)
    if (const auto done = sync_parent_folder(each); !done) return braid::fail(done.error());
  return is_new;
}

auto replace_file(const fs::path& file, std::string_view bytes) -> braid::result<void> {
  const fs::path fresh = file.string() + ".new";
  if (auto done = write_file(fresh, bytes); !done) {
    ::unlink(fresh.c_str());  // a disk that is full has no room for half of a file
    return done;
  }
  if (::rename(fresh.c_str(), file.c_str()) != 0) return braid::fail(braid::last_system_error());
  return sync_parent_folder(file);
}

}  // namespace rankd
