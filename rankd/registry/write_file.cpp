// rankd/registry/write_file.cpp: writes and syncs files, and replaces files by rename.
#include <rankd/registry/write_file.hpp>

#include <braid/io/backend.hpp>

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rankd {
namespace {

namespace fs = std::filesystem;

using status = struct ::stat;

auto sync_descriptor(const braid::descriptor& handle) -> braid::result<void> {
  if (!handle || ::fsync(handle.number()) != 0) return braid::fail(braid::last_system_error());
  return {};
}

/// Opens without blocking: if the path is a pipe, the call does not wait for a reader.
auto open_empty(const fs::path& file) -> braid::result<braid::descriptor> {
  braid::descriptor handle(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0640));
  if (!handle) return braid::fail(braid::last_system_error());
  return handle;
}

/// Gives a new file the mode of the file that it will replace, and its owner and group if this is permitted. Does
/// nothing if there is no such file.
auto keep_access(const braid::descriptor& fresh, const fs::path& replaced) -> braid::result<void> {
  constexpr ::mode_t permissions = 0777;
  status before{};
  if (::lstat(replaced.c_str(), &before) != 0 || !S_ISREG(before.st_mode)) return {};
  static_cast<void>(::fchown(fresh.number(), before.st_uid, before.st_gid));  // mostly reserved for root
  if (::fchmod(fresh.number(), before.st_mode & permissions) != 0) return braid::fail(braid::last_system_error());
  return {};
}

auto write_and_sync(const braid::descriptor& handle, std::string_view bytes) -> braid::result<void> {
  if (auto done = write_all(handle.number(), bytes); !done) return done;
  return sync_descriptor(handle);
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
  const auto handle = open_empty(file);
  if (!handle) return braid::fail(handle.error());
  return write_and_sync(*handle, bytes);
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
  const auto handle = open_empty(fresh);
  if (!handle) return braid::fail(handle.error());
  auto done = keep_access(*handle, file);
  if (done) done = write_and_sync(*handle, bytes);
  if (done && ::rename(fresh.c_str(), file.c_str()) != 0) done = braid::fail(braid::last_system_error());
  if (done) return sync_parent_folder(file);
  ::unlink(fresh.c_str());  // a disk that is full has no room for half of a file
  return done;
}

}  // namespace rankd
