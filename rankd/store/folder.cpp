// rankd/store/folder.cpp: reads and replaces the manifest of a store, and implements the lock that writers hold.
#include <rankd/store/folder.hpp>

#include <rankd/registry/write_file.hpp>
#include <rankd/store/block_checksums.hpp>
#include <rankd/store/crc32c.hpp>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rankd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "rankd-store ";
constexpr std::string_view unfinished_name = "rankd-store.new";  // of replace_file
constexpr std::size_t max_manifest = 256;

/// Opens a file without blocking: if the path names a pipe by mistake, the call does not wait for a writer of the pipe.
auto open_to_read(const fs::path& path, int more = 0) -> braid::descriptor {
  return braid::descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | more));
}

/// Returns whether a data file or a file of checksums has this name, whatever its generation is.
auto is_data_file(std::string_view name) -> bool {
  return name.starts_with("data-") && (name.ends_with(".mdb") || name.ends_with(".sums"));
}

/// Returns whether a folder without a manifest holds only the leftovers of an interrupted first load. Ignores a
/// manifest, because a load may have written one after the caller has looked for it.
auto only_leftovers(const fs::path& folder) -> bool {
  std::error_code error;
  for (auto item = fs::directory_iterator(folder, error); !error && item != fs::directory_iterator();
       item.increment(error)) {
    const std::string name = item->path().filename().string();
    if (!is_data_file(name) && name != unfinished_name && name != store_manifest::file_name) return false;
  }
  return !error;
}

auto without_manifest(const fs::path& folder) -> braid::diagnostics {
  std::error_code error;
  if (!fs::exists(folder, error))
    return store_diagnostic("store_missing", folder, "there is no store here",
                            "load data first: rankd load DATA.ndjson --store PATH");
  if (fs::is_directory(folder, error) && only_leftovers(folder))
    return store_diagnostic("store_missing", folder, "the folder contains no finished load",
                            "load data first: rankd load DATA.ndjson --store PATH");
  return store_diagnostic("store_foreign", folder, "this is not a store of rankd",
                          "name a folder that rankd load has written, or one that does not exist yet");
}

/// Removes a decimal number and the character after it from the front of `text`, and returns the number.
auto take_number(std::string_view& text, char terminator) -> std::optional<std::uint64_t> {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto used = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || used == text.size() || *end != terminator) return std::nullopt;
  text.remove_prefix(used + 1);
  return value;
}

/// Removes a checksum and the character after it from the front of `text`, and returns the checksum.
auto take_checksum(std::string_view& text, char terminator) -> std::optional<std::uint32_t> {
  const auto number = take_number(text, terminator);
  if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

auto make_checksum(std::string_view text) -> std::uint32_t { return crc32c(std::as_bytes(std::span(text))); }

/// Parses the text of a manifest after its first line. `whole` is the entire manifest, which ends with `text`. The last
/// entry is a checksum of everything before it.
auto parse_entries(std::string_view whole, std::string_view text, std::uint64_t version)
    -> std::optional<store_manifest> {
  const bool has_checksums = version > 1;
  const auto generation = take_number(text, ' ');
  const auto bytes = generation ? take_number(text, has_checksums ? ' ' : '\n') : std::nullopt;
  if (!bytes) return std::nullopt;
  store_manifest found{*generation, *bytes};
  if (has_checksums) {
    found.checksums = take_checksum(text, '\n');
    const std::string_view covered = whole.substr(0, whole.size() - text.size());
    if (!found.checksums || take_checksum(text, '\n') != make_checksum(covered)) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return found;
}

auto parse_manifest(const fs::path& folder, std::string_view text) -> braid::checked<store_manifest> {
  const auto refuse = [&](std::string_view code, std::string_view message, std::string_view hint) {
    return std::unexpected(store_diagnostic(code, folder, message, hint));
  };
  constexpr std::string_view damaged = "the manifest of the store is damaged";
  const std::string_view whole = text;
  if (!text.starts_with(magic)) return refuse("store_corrupt", damaged, load_again_hint);
  text.remove_prefix(magic.size());
  const auto version = take_number(text, '\n');
  if (!version || *version == 0) return refuse("store_corrupt", damaged, load_again_hint);
  if (*version > store_manifest::format)
    return refuse("store_newer", "the store has a format that this version does not know",
                  "use the version of rankd that wrote the store, or load the data again");
  const auto found = parse_entries(whole, text, *version);
  if (!found) return refuse("store_corrupt", damaged, load_again_hint);
  return *found;
}

auto manifest_text(const store_manifest& manifest) -> std::string {
  const std::uint32_t version = manifest.checksums ? store_manifest::format : 1;
  std::string text = std::string(magic) + std::to_string(version) + "\n" + std::to_string(manifest.generation) + " " +
                     std::to_string(manifest.data_bytes);
  if (manifest.checksums) text += " " + std::to_string(*manifest.checksums);
  text += '\n';
  if (manifest.checksums) text += std::to_string(make_checksum(text)) + "\n";
  return text;
}

}  // namespace

auto store_diagnostic(std::string_view code, const fs::path& folder, std::string_view message, std::string_view hint)
    -> braid::diagnostics {
  return braid::diagnostics({.code = std::string(code),
                             .pointer = {},
                             .message = std::string(message),
                             .hint = std::string(hint),
                             .node = {},
                             .source = folder.string()});
}

auto data_file(const fs::path& folder, std::uint64_t generation) -> fs::path {
  return folder / ("data-" + std::to_string(generation) + ".mdb");
}

auto checksums_file(const fs::path& folder, std::uint64_t generation) -> fs::path {
  return folder / ("data-" + std::to_string(generation) + ".sums");
}

auto seal_generation(const fs::path& folder, std::uint64_t generation) -> braid::result<store_manifest> {
  const braid::descriptor data = open_to_read(data_file(folder, generation));
  struct ::stat found{};
  if (!data || ::fstat(data.number(), &found) != 0) return braid::fail(braid::last_system_error());
  const auto bytes = static_cast<std::uint64_t>(found.st_size);
  const auto sums = block_checksums::take(data, bytes);
  if (!sums) return braid::fail(sums.error());
  if (auto done = sums->write(checksums_file(folder, generation)); !done) return braid::fail(done.error());
  return store_manifest{generation, bytes, sums->digest()};
}

auto read_manifest(const fs::path& folder) -> braid::checked<store_manifest> {
  const braid::descriptor handle = open_to_read(folder / store_manifest::file_name);
  if (!handle && (errno == ENOENT || errno == ENOTDIR)) return std::unexpected(without_manifest(folder));
  char text[max_manifest];
  const ::ssize_t size = !handle ? -1 : ::read(handle.number(), text, sizeof text);
  if (size < 0)
    return std::unexpected(store_diagnostic(
        "store_unreadable", folder, "the manifest cannot be read: " + braid::last_system_error().message(), {}));
  return parse_manifest(folder, {text, static_cast<std::size_t>(size)});
}

auto write_manifest(const fs::path& folder, store_manifest manifest) -> braid::result<void> {
  // Syncs the folder first, so that the data file's name is durable before the manifest refers to it.
  if (auto done = sync_folder(folder); !done) return done;
  return replace_file(folder / store_manifest::file_name, manifest_text(manifest));
}

void remove_other_generations(const fs::path& folder, std::uint64_t keep) {
  const std::string kept = data_file(folder, keep).filename().string();
  const std::string kept_sums = checksums_file(folder, keep).filename().string();
  std::error_code error;
  for (auto item = fs::directory_iterator(folder, error); !error && item != fs::directory_iterator();
       item.increment(error)) {
    const std::string name = item->path().filename().string();
    std::error_code ignored;  // a file that stays costs space, nothing else; the next load tries again
    if (is_data_file(name) && name != kept && name != kept_sums) fs::remove(item->path(), ignored);
  }
}

auto manifest_use::of(const fs::path& folder) -> braid::checked<std::optional<manifest_use>> {
  braid::descriptor file = open_to_read(folder / store_manifest::file_name);
  const bool is_claimed = !file || ::flock(file.number(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  auto manifest = read_manifest(folder);
  if (!manifest) return std::unexpected(std::move(manifest.error()));
  if (!file || !is_claimed) return std::nullopt;
  manifest_use made(std::move(file), *manifest);
  // A lock on an old manifest does not claim a generation: if a load has replaced the manifest in the meantime, that
  // load does not wait for this lock.
  if (!made.is_current(folder)) return std::nullopt;
  return made;
}

auto manifest_use::is_current(const fs::path& folder) const -> bool {
  struct ::stat named{};
  struct ::stat opened{};
  return ::stat((folder / store_manifest::file_name).c_str(), &named) == 0 && ::fstat(file_.number(), &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

replaced_manifest::replaced_manifest(const fs::path& folder)
    : file_(open_to_read(folder / store_manifest::file_name)), had_readers_(is_claimed()) {}

auto replaced_manifest::is_claimed() const -> bool {
  if (!file_ || ::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) return file_ && errno == EWOULDBLOCK;
  ::flock(file_.number(), LOCK_UN);
  return false;
}

auto replaced_manifest::wait_for_readers(braid::duration patience) const -> store_readers {
  constexpr auto pause = std::chrono::milliseconds(2);
  const braid::time_point end = braid::steady_time().now() + patience;
  while (is_claimed()) {
    if (braid::steady_time().now() >= end) return store_readers::behind;
    std::this_thread::sleep_for(pause);
  }
  return had_readers_ ? store_readers::changed : store_readers::none;
}

auto folder_lock::acquire(const fs::path& folder, lock_wait wait) -> braid::result<folder_lock> {
  braid::descriptor handle = open_to_read(folder, O_DIRECTORY);
  if (!handle) return braid::fail(braid::last_system_error());
  const int how = wait == lock_wait::give_up ? LOCK_EX | LOCK_NB : LOCK_EX;
  while (::flock(handle.number(), how) != 0) {
    if (errno != EINTR) return braid::fail(braid::last_system_error());
  }
  return folder_lock(std::move(handle));
}

}  // namespace rankd
