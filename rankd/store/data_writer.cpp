// rankd/store/data_writer.cpp: LMDB as a builder of files: commits in between bound the memory, one sync at the end.
#include <rankd/store/data_writer.hpp>

#include <rankd/store/detail/lmdb.hpp>

#include <utility>

namespace rankd {
namespace {

/// LMDB keeps the pages of an open transaction in memory.
constexpr std::size_t commit_every = std::size_t{32} << 20U;

constexpr std::size_t map_unit = std::size_t{64} << 10U;  // a multiple of every page size

}  // namespace

auto data_writer::create(const std::filesystem::path& file, std::size_t map_bytes) -> braid::result<data_writer> {
  MDB_env* raw = nullptr;
  if (const int status = ::mdb_env_create(&raw); status != 0) return braid::fail(lmdb::error_of(status));
  data_writer writer(file, raw);
  int status = ::mdb_env_set_mapsize(raw, (map_bytes / map_unit + 1) * map_unit);
  if (status == 0) status = ::mdb_env_open(raw, file.c_str(), lmdb::environment_flags | MDB_NOSYNC, 0644);
  if (status != 0) return braid::fail(lmdb::error_of(status));
  if (auto begun = writer.begin(); !begun) return braid::fail(begun.error());
  return writer;
}

auto data_writer::begin() -> braid::result<void> {
  MDB_txn* raw = nullptr;
  int status = ::mdb_txn_begin(environment_.get(), nullptr, 0, &raw);
  transaction_.reset(raw);
  if (status == 0) status = ::mdb_dbi_open(raw, nullptr, 0, &database_);
  if (status != 0) return braid::fail(lmdb::error_of(status));
  uncommitted_ = 0;
  return {};
}

auto data_writer::commit() -> braid::result<void> {
  const int status = ::mdb_txn_commit(transaction_.release());  // ended, whatever it returns
  if (status != 0) return braid::fail(lmdb::error_of(status));
  return {};
}

auto data_writer::put(std::string_view key, std::span<const std::byte> record)
    -> braid::result<std::optional<record_view>> {
  if (uncommitted_ > commit_every) {
    auto done = commit();
    if (done) done = begin();
    if (!done) return braid::fail(done.error());
  }
  MDB_val name = lmdb::value_of(key);
  MDB_val value = lmdb::value_of({reinterpret_cast<const char*>(record.data()), record.size()});
  const int status = ::mdb_put(transaction_.get(), database_, &name, &value, MDB_NOOVERWRITE);
  if (status == MDB_KEYEXIST) return record_view::parse(lmdb::bytes_of(value));
  if (status != 0) return braid::fail(lmdb::error_of(status));
  uncommitted_ += key.size() + record.size();
  return std::nullopt;
}

auto data_writer::finish() -> braid::result<std::uint64_t> {
  if (auto done = commit(); !done) return braid::fail(done.error());
  if (const int status = ::mdb_env_sync(environment_.get(), 1); status != 0) return braid::fail(lmdb::error_of(status));
  environment_.reset();
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(file_, error);
  if (error) return braid::fail(error);
  return size;
}

void data_writer::close_environment::operator()(MDB_env* environment) const noexcept { ::mdb_env_close(environment); }

void data_writer::end_transaction::operator()(MDB_txn* transaction) const noexcept { ::mdb_txn_abort(transaction); }

}  // namespace rankd
