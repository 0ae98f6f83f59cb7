// rankd/store/embedded.cpp: mapping a store's file, and looking things up in it.
#include <rankd/store/embedded.hpp>

#include <rankd/store/detail/lmdb.hpp>

#include <string>
#include <utility>

namespace rankd {
namespace {

namespace fs = std::filesystem;

/// A load may replace the data file between the reading of the manifest and the opening of the file.
constexpr int open_attempts = 16;

/// What is wrong with the data file by its size, or nothing.
auto size_complaint(const fs::path& folder, std::uint64_t actual, std::uint64_t expected)
    -> std::optional<braid::diagnostics> {
  if (actual == expected) return std::nullopt;
  const std::string sizes =
      "the data file has " + std::to_string(actual) + " bytes, the manifest says " + std::to_string(expected);
  if (actual < expected)
    return store_complaint("store_truncated", folder, sizes, "it was cut short, by a full disk or an unfinished copy");
  return store_complaint("store_corrupt", folder, sizes, "delete the folder and load the data again");
}

auto cannot_map(const fs::path& folder, int status) -> std::unexpected<braid::diagnostics> {
  const std::string reason = ::mdb_strerror(status);
  if (status > 0)
    return std::unexpected(store_complaint("store_unreadable", folder, "cannot be opened: " + reason, {}));
  return std::unexpected(store_complaint("store_corrupt", folder, "the data file is damaged: " + reason,
                                         "delete the folder and load the data again"));
}

}  // namespace

auto embedded_store::map(const fs::path& folder, store_manifest manifest) -> braid::checked<embedded_store> {
  MDB_env* raw = nullptr;
  if (const int status = ::mdb_env_create(&raw); status != 0) return cannot_map(folder, status);
  environment_ptr environment(raw);
  ::mdb_env_set_mapsize(raw, manifest.data_bytes);
  const fs::path file = data_file(folder, manifest.generation);
  int status = ::mdb_env_open(raw, file.c_str(), lmdb::environment_flags | MDB_RDONLY, 0644);
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

auto embedded_store::open(const fs::path& folder) -> braid::checked<embedded_store> {
  for (int attempt = 0; attempt < open_attempts; ++attempt) {
    const auto manifest = read_manifest(folder);
    if (!manifest) return std::unexpected(manifest.error());
    std::error_code error;
    const std::uint64_t size = fs::file_size(data_file(folder, manifest->generation), error);
    if (error == std::errc::no_such_file_or_directory) continue;
    if (error) return cannot_map(folder, error.value());
    if (auto complaint = size_complaint(folder, size, manifest->data_bytes)) return std::unexpected(*complaint);
    auto store = map(folder, *manifest);
    if (store || fs::exists(data_file(folder, manifest->generation), error)) return store;
  }
  return std::unexpected(store_complaint("store_corrupt", folder, "the data file that the manifest names is missing",
                                         "delete the folder and load the data again"));
}

auto embedded_store::take_snapshot() const -> braid::result<snapshot> {
  MDB_txn* transaction = nullptr;
  const int status = ::mdb_txn_begin(environment_.get(), nullptr, MDB_RDONLY, &transaction);
  if (status != 0) return braid::fail(lmdb::error_of(status));
  return snapshot(transaction, database_);
}

auto embedded_store::snapshot::find(std::string_view key) const -> braid::result<std::optional<record_view>> {
  if (key.empty() || key.size() > lmdb::longest_key) return std::nullopt;  // no load takes such a key
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
  return facts.ms_entries;
}

auto embedded_store::cursor::next() -> braid::result<std::optional<store_entry>> {
  if (!handle_) return std::nullopt;
  MDB_val name = lmdb::value_of(first_);
  MDB_val value{};
  const int status = ::mdb_cursor_get(handle_.get(), &name, &value, first_.empty() ? MDB_NEXT : MDB_SET_RANGE);
  first_.clear();
  if (status == MDB_NOTFOUND) {
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
