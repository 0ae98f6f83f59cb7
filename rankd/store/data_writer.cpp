// rankd/store/data_writer.cpp: builds a data file with LMDB. Each save is a commit that reaches the disk.
#include <rankd/store/data_writer.hpp>

#include <rankd/store/detail/lmdb.hpp>

#include <utility>

namespace rankd {
namespace {

/// The key under which the note is stored. This key is not valid UTF-8, so it never equals the key of a record.
constexpr std::string_view note_key = "\xff";

constexpr std::size_t map_unit = std::size_t{64} << 10U;  // a multiple of every page size

}  // namespace

auto data_writer::open(const std::filesystem::path& file, std::size_t map_bytes, unsigned flags)
    -> braid::result<data_writer> {
  MDB_env* raw = nullptr;
  if (const int status = ::mdb_env_create(&raw); status != 0) return braid::fail(lmdb::error_of(status));
  data_writer writer(file, raw);
  int status = ::mdb_env_set_mapsize(raw, (map_bytes / map_unit + 1) * map_unit);
  if (status == 0) status = ::mdb_env_open(raw, file.c_str(), lmdb::environment_flags | flags, 0640);
  if (status != 0) return braid::fail(lmdb::error_of(status));
  return writer;
}

auto data_writer::create(const std::filesystem::path& file, std::size_t map_bytes) -> braid::result<data_writer> {
  auto writer = open(file, map_bytes, 0);
  if (!writer) return writer;
  if (auto begun = writer->begin(); !begun) return braid::fail(begun.error());
  return writer;
}

auto data_writer::reopen(const std::filesystem::path& file, std::size_t map_bytes) -> braid::result<data_writer> {
  std::error_code error;
  if (std::filesystem::file_size(file, error) == 0 || error) return braid::fail(error ? error : store_errc::corrupt);
  auto writer = open(file, map_bytes, 0);
  if (!writer) return writer;
  if (!writer->is_whole()) return braid::fail(store_errc::corrupt);
  if (auto begun = writer->begin(); !begun) return braid::fail(begun.error());
  return writer;
}

/// Returns whether the file is as long as its header claims. If a page were missing, reading it would end the process.
auto data_writer::is_whole() const -> bool {
  MDB_envinfo info{};
  MDB_stat shape{};
  if (::mdb_env_info(environment_.get(), &info) != 0 || ::mdb_env_stat(environment_.get(), &shape) != 0) return false;
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(file_, error);
  return !error && size / shape.ms_psize > info.me_last_pgno;
}

auto data_writer::begin() -> braid::result<void> {
  MDB_txn* raw = nullptr;
  int status = ::mdb_txn_begin(environment_.get(), nullptr, 0, &raw);
  transaction_.reset(raw);
  if (status == 0) status = ::mdb_dbi_open(raw, nullptr, 0, &database_);
  if (status != 0) return braid::fail(lmdb::error_of(status));
  unsaved_ = 0;
  return {};
}

auto data_writer::commit() -> braid::result<void> {
  const int status = ::mdb_txn_commit(transaction_.release());  // ended, whatever it returns
  if (status != 0) return braid::fail(lmdb::error_of(status));
  return {};
}

auto data_writer::put(std::string_view key, std::span<const std::byte> record)
    -> braid::result<std::optional<record_view>> {
  MDB_val name = lmdb::value_of(key);
  MDB_val value = lmdb::value_of({reinterpret_cast<const char*>(record.data()), record.size()});
  const int status = ::mdb_put(transaction_.get(), database_, &name, &value, MDB_NOOVERWRITE);
  if (status == MDB_KEYEXIST) return record_view::parse(lmdb::bytes_of(value));
  if (status != 0) return braid::fail(lmdb::error_of(status));
  unsaved_ += key.size() + record.size();
  return std::nullopt;
}

auto data_writer::find(std::string_view key) -> braid::result<std::optional<record_view>> {
  MDB_val name = lmdb::value_of(key);
  MDB_val value{};
  const int status = ::mdb_get(transaction_.get(), database_, &name, &value);
  if (status == MDB_NOTFOUND) return std::nullopt;
  if (status != 0) return braid::fail(lmdb::error_of(status));
  return record_view::parse(lmdb::bytes_of(value));
}

auto data_writer::save(std::string_view note) -> braid::result<void> {
  MDB_val name = lmdb::value_of(note_key);
  MDB_val value = lmdb::value_of(note);
  if (const int status = ::mdb_put(transaction_.get(), database_, &name, &value, 0); status != 0)
    return braid::fail(lmdb::error_of(status));
  if (auto done = commit(); !done) return done;
  return begin();
}

auto data_writer::note() -> braid::result<std::string> {
  MDB_val name = lmdb::value_of(note_key);
  MDB_val value{};
  const int status = ::mdb_get(transaction_.get(), database_, &name, &value);
  if (status == MDB_NOTFOUND) return std::string();
  if (status != 0) return braid::fail(lmdb::error_of(status));
  return std::string(lmdb::text_of(value));
}

auto data_writer::finish() -> braid::result<std::uint64_t> {
  MDB_val name = lmdb::value_of(note_key);
  const int status = ::mdb_del(transaction_.get(), database_, &name, nullptr);
  if (status != 0 && status != MDB_NOTFOUND) return braid::fail(lmdb::error_of(status));
  if (auto done = commit(); !done) return braid::fail(done.error());
  environment_.reset();
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(file_, error);
  if (error) return braid::fail(error);
  return size;
}

void data_writer::close_environment::operator()(MDB_env* environment) const noexcept { ::mdb_env_close(environment); }

void data_writer::end_transaction::operator()(MDB_txn* transaction) const noexcept { ::mdb_txn_abort(transaction); }

}  // namespace rankd
