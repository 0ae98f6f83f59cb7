// rankd/store/embedded.cpp: verifies and maps the file of a store, and looks up keys in it.
#include <rankd/store/embedded.hpp>

#include <rankd/store/detail/lmdb.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace rankd {
namespace {

namespace fs = std::filesystem;

/// The number of attempts to open a store. A load may replace the data file after the manifest was read and before the
/// file is opened.
constexpr int open_attempts = 16;

auto corrupt(const fs::path& folder, std::string_view message) -> std::unexpected<braid::diagnostics> {
  return std::unexpected(store_diagnostic("store_corrupt", folder, message, load_again_hint));
}

/// Returns a diagnostic if the size of the data file is wrong, or nothing.
auto size_diagnostic(const fs::path& folder, std::uint64_t actual, std::uint64_t expected)
    -> std::optional<braid::diagnostics> {
  if (actual == expected) return std::nullopt;
  const std::string sizes =
      "the data file has " + counted(actual, "byte") + ", but the manifest says " + std::to_string(expected);
  if (actual < expected)
    return store_diagnostic("store_truncated", folder, sizes,
                            "the file was truncated by a full disk or an unfinished copy");
  return store_diagnostic("store_corrupt", folder, sizes, load_again_hint);
}

auto cannot_map(const fs::path& folder, int status) -> std::unexpected<braid::diagnostics> {
  const std::string reason = ::mdb_strerror(status);
  if (status > 0)
    return std::unexpected(store_diagnostic("store_unreadable", folder, "cannot be opened: " + reason, {}));
  return corrupt(folder, "the data file is damaged: " + reason);
}

/// Returns whether two descriptors refer to the same file.
auto is_same_file(int one, int other) -> bool {
  struct ::stat first{};
  struct ::stat second{};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

/// Compares a data file with its checksums, and returns the checksums, or nothing if the store has no checksums.
auto verify(const fs::path& folder, const store_manifest& manifest, const braid::descriptor& data)
    -> braid::checked<std::optional<block_checksums>> {
  if (!manifest.checksums) return std::nullopt;
  const fs::path kept = checksums_file(folder, manifest.generation);
  const std::string name = kept.filename().string();
  auto sums = block_checksums::read(kept, manifest.data_bytes, *manifest.checksums);
  if (!sums && sums.error() == store_errc::corrupt) return corrupt(folder, "the checksums in " + name + " are damaged");
  if (!sums) return corrupt(folder, "the checksums in " + name + " cannot be read: " + sums.error().message());
  if (const auto damage = sums->find_damage(data))
    return corrupt(folder, data_file(folder, manifest.generation).filename().string() + ": " + damage->to_string());
  return std::move(*sums);
}

}  // namespace

auto embedded_store::map(const fs::path& folder, store_manifest manifest) -> braid::checked<embedded_store> {
  MDB_env* raw = nullptr;
  if (const int status = ::mdb_env_create(&raw); status != 0) return cannot_map(folder, status);
  environment_ptr environment(raw);
  ::mdb_env_set_mapsize(raw, manifest.data_bytes);
  const fs::path file = data_file(folder, manifest.generation);
  int status = ::mdb_env_open(raw, file.c_str(), lmdb::environment_flags | MDB_RDONLY, 0640);
  if (status != 0) return cannot_map(folder, status);

  MDB_txn* transaction = nullptr;
  status = ::mdb_txn_begin(raw, nullptr, MDB_RDONLY, &transaction);
  if (status != 0) return cannot_map(folder, status);
  MDB_dbi database = 0;
  status = ::mdb_dbi_open(transaction, nullptr, 0, &database);
  ::mdb_txn_abort(transaction);
  if (status != 0) return cannot_map(folder, status);
  return embedded_store(std::move(environment), database, manifest);
}

/// Returns nothing if a load has removed the data file since the manifest was read.
auto embedded_store::open_once(const fs::path& folder, store_manifest manifest)
    -> braid::checked<std::optional<embedded_store>> {
  const fs::path file = data_file(folder, manifest.generation);
  braid::descriptor data(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!data && errno == ENOENT) return std::nullopt;
  struct ::stat found{};
  if (!data || ::fstat(data.number(), &found) != 0) return cannot_map(folder, errno);
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (auto problem = size_diagnostic(folder, size, manifest.data_bytes)) return std::unexpected(*problem);

  const auto is_gone = [&] {
    std::error_code unknown;
    return !fs::exists(file, unknown);
  };
  auto sums = verify(folder, manifest, data);
  if (!sums && is_gone()) return std::nullopt;
  if (!sums) return std::unexpected(std::move(sums.error()));
  auto store = map(folder, manifest);
  if (!store && is_gone()) return std::nullopt;
  if (!store) return std::unexpected(std::move(store.error()));
  int mapped = -1;
  if (::mdb_env_get_fd(store->environment_.get(), &mapped) != 0 || !is_same_file(mapped, data.number()))
    return std::nullopt;  // what was verified is another file
  const std::chrono::nanoseconds made =
      std::chrono::seconds(found.st_mtim.tv_sec) + std::chrono::nanoseconds(found.st_mtim.tv_nsec);
  store->guard_ = std::make_unique<guard>(std::move(data), std::move(*sums),
                                          std::chrono::duration_cast<std::chrono::milliseconds>(made));
  return std::move(*store);
}

auto embedded_store::open(const fs::path& folder) -> braid::checked<embedded_store> {
  for (int attempt = 0; attempt < open_attempts; ++attempt) {
    const auto manifest = read_manifest(folder);
    if (!manifest) return std::unexpected(manifest.error());
    auto store = open_once(folder, *manifest);
    if (!store) return std::unexpected(std::move(store.error()));
    if (*store) return std::move(**store);
  }
  return corrupt(folder, "the data file that the manifest names is missing");
}

auto embedded_store::scrub(std::uint64_t max_bytes) -> scrub_step {
  guard& own = *guard_;
  if (!own.sums || own.is_damaged.load(braid::relaxed)) return {};  // only the scrub writes it
  const std::uint64_t first = own.next_block;
  const std::uint64_t count =
      std::min(std::max<std::uint64_t>(max_bytes / block_checksums::block_bytes, 1), own.sums->blocks() - first);
  if (auto damage = own.sums->find_damage(own.file, first, count)) {
    own.found = *damage;
    own.is_damaged.store(
        true, braid::release);  // edge store.damage: publish, a thread that sees the flag reads what was found
    return {};
  }
  const std::uint64_t end = first + count;
  own.next_block = end == own.sums->blocks() ? 0 : end;
  return {
      .bytes = std::min(end * block_checksums::block_bytes, own.sums->bytes()) - first * block_checksums::block_bytes,
      .ends_round = own.next_block == 0};
}

auto embedded_store::damage() const -> std::optional<block_damage> {
  // edge store.damage: observe, the damage was stored before the flag
  if (!guard_->is_damaged.load(braid::acquire)) return std::nullopt;
  return guard_->found;
}

auto embedded_store::take_snapshot() const -> braid::result<snapshot> {
  if (guard_->is_damaged.load(braid::relaxed)) return braid::fail(store_errc::corrupt);
  MDB_txn* transaction = nullptr;
  const int status = ::mdb_txn_begin(environment_.get(), nullptr, MDB_RDONLY, &transaction);
  if (status != 0) return braid::fail(lmdb::error_of(status));
  return snapshot(transaction, database_);
}

auto embedded_store::snapshot::find(std::string_view key) const -> braid::result<std::optional<record_view>> {
  if (key.empty() || key.size() > lmdb::max_key) return std::nullopt;  // no load accepts such a key
  MDB_val name = lmdb::value_of(key);
  MDB_val value{};
  const int status = ::mdb_get(transaction_.get(), database_, &name, &value);
  if (status == MDB_NOTFOUND) return std::nullopt;
  if (status != 0) return braid::fail(lmdb::error_of(status));
  const auto record = record_view::parse(lmdb::bytes_of(value));
  if (!record) return braid::fail(store_errc::corrupt);
  return record;
}

auto embedded_store::snapshot::walk(std::string_view first) const -> braid::result<cursor> {
  MDB_cursor* handle = nullptr;
  const int status = ::mdb_cursor_open(transaction_.get(), database_, &handle);
  if (status != 0) return braid::fail(lmdb::error_of(status));
  return cursor(handle, first);
}

auto embedded_store::snapshot::count() const -> braid::result<std::uint64_t> {
  MDB_stat facts{};
  const int status = ::mdb_stat(transaction_.get(), database_, &facts);
  if (status != 0) return braid::fail(lmdb::error_of(status));
  const auto kept = history();
  if (!kept) return braid::fail(kept.error());
  return facts.ms_entries - (*kept ? 1 : 0);
}

auto embedded_store::cursor::next() -> braid::result<std::optional<store_entry>> {
  if (!handle_) return std::nullopt;
  MDB_val name = lmdb::value_of(first_);
  MDB_val value{};
  const int status = ::mdb_cursor_get(handle_.get(), &name, &value, first_.empty() ? MDB_NEXT : MDB_SET_RANGE);
  first_.clear();
  if (status == MDB_NOTFOUND || (status == 0 && lmdb::text_of(name) == history_key)) {
    handle_.reset();  // LMDB would begin again at the first key
    return std::nullopt;
  }
  if (status != 0) return braid::fail(lmdb::error_of(status));
  const auto record = record_view::parse(lmdb::bytes_of(value));
  if (!record) return braid::fail(store_errc::corrupt);
  return store_entry{lmdb::text_of(name), *record};
}

void embedded_store::close_environment::operator()(MDB_env* environment) const noexcept {
  ::mdb_env_close(environment);
}

void embedded_store::snapshot::end_transaction::operator()(MDB_txn* transaction) const noexcept {
  ::mdb_txn_abort(transaction);
}

void embedded_store::cursor::close_cursor::operator()(MDB_cursor* handle) const noexcept { ::mdb_cursor_close(handle); }

}  // namespace rankd
