// tests/rankd/store/embedded_test.cpp: what is refused at opening, and that what was loaded is found.
#include <rankd/store/embedded.hpp>

#include <rankd/store/data_writer.hpp>
#include <rankd/store/error.hpp>

#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;
namespace fs = std::filesystem;

constexpr int lists = 500;

/// Makes a finished data file the store.
void publish(const fs::path& folder, std::uint64_t generation) {
  const auto manifest = seal_generation(folder, generation);
  REQUIRE(manifest.has_value());
  REQUIRE(write_manifest(folder, *manifest).has_value());
}

/// `list:i` holds the ids 0 … i-1.
void make_store(const fs::path& folder, std::uint64_t generation = 1) {
  auto writer = data_writer::create(data_file(folder, generation), 1 << 24);
  REQUIRE(writer.has_value());
  record_builder builder;
  std::vector<std::int64_t> ids;
  for (int i = 0; i < lists; ++i) {
    REQUIRE(writer->put("list:" + std::to_string(i), builder.id_list(ids, {})).has_value());
    ids.push_back(i);
  }
  REQUIRE(writer->finish().has_value());
  publish(folder, generation);
}

auto refusal_of(const fs::path& folder) -> std::string {
  const auto store = embedded_store::open(folder);
  if (store) return "fine";
  CHECK(store.error().front().source == folder.string());
  return store.error().front().code;
}

void overwrite(const fs::path& file, std::streamoff at, std::string_view bytes) {
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(at);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(out.flush().good());
}

void flip(const fs::path& file, std::uintmax_t at, unsigned bit) {
  std::fstream both(file, std::ios::binary | std::ios::in | std::ios::out);
  char byte = 0;
  both.seekg(static_cast<std::streamoff>(at)).get(byte);
  both.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << bit)));
  REQUIRE(both.flush().good());
}

/// Reads every record of a store; the number of ids in all lists.
auto sum_of(const embedded_store& store) -> std::size_t {
  const auto snapshot = store.take_snapshot();
  REQUIRE(snapshot.has_value());
  std::size_t sum = 0;
  for (int i = 0; i < lists; ++i) sum += snapshot->find("list:" + std::to_string(i)).value().value().count();
  return sum;
}

constexpr std::size_t whole_sum = std::size_t{lists} * (lists - 1) / 2;

}  // namespace

TEST_CASE("every key is found with its record, no other key is") {
  const scratch_folder folder;
  make_store(folder.path());
  const auto store = embedded_store::open(folder.path());
  REQUIRE(store.has_value());
  CHECK(store->manifest().generation == 1);
  CHECK(sum_of(*store) == whole_sum);
  const auto snapshot = store->take_snapshot();
  REQUIRE(snapshot.has_value());
  const auto record = snapshot->find("list:7").value();
  REQUIRE(record.has_value());
  for (std::size_t i = 0; i < 7; ++i) CHECK(record->id_at(i) == static_cast<std::int64_t>(i));
  for (const std::string& absent : {std::string(), std::string("list:"), std::string("list:500"),
                                    std::string("list:07"), std::string(600, 'k'), std::string("\0", 1)})
    CHECK_FALSE(snapshot->find(absent).value().has_value());
}

TEST_CASE("a walk gives all keys in bytewise order") {
  const scratch_folder folder;
  make_store(folder.path());
  const auto store = embedded_store::open(folder.path());
  REQUIRE(store.has_value());
  const auto snapshot = store->take_snapshot();
  REQUIRE(snapshot.has_value());
  auto cursor = snapshot->walk();
  REQUIRE(cursor.has_value());
  std::map<std::string, std::size_t> expected;
  for (std::size_t i = 0; i < lists; ++i) expected["list:" + std::to_string(i)] = i;
  for (const auto& [key, count] : expected) {
    const auto entry = cursor->next();
    REQUIRE((entry.has_value() && entry->has_value()));
    CHECK((*entry)->key == key);
    CHECK((*entry)->record.count() == count);
  }
  CHECK_FALSE(cursor->next().value().has_value());
  CHECK(snapshot->count().value() == lists);
}

TEST_CASE("a walk may begin in the middle, and stays at its end") {
  const scratch_folder folder;
  make_store(folder.path());
  const auto store = embedded_store::open(folder.path());
  REQUIRE(store.has_value());
  const auto snapshot = store->take_snapshot();
  auto cursor = snapshot->walk("list:98");
  CHECK(cursor->next().value()->key == "list:98");
  CHECK(cursor->next().value()->key == "list:99");
  for (const std::string& late : {std::string("list:99"), std::string("z"), std::string(600, 'z')}) {
    auto short_walk = snapshot->walk(late);
    if (late == "list:99") CHECK(short_walk->next().value()->key == late);
    CHECK_FALSE(short_walk->next().value().has_value());
    CHECK_FALSE(short_walk->next().value().has_value());
  }
}

TEST_CASE("each folder that is no store is refused with its code") {
  const scratch_folder folder;
  CHECK(refusal_of(folder.path() / "absent") == "store_missing");
  CHECK(refusal_of(folder.path()) == "store_missing");
  CHECK(refusal_of(folder.write("foreign/data.mdb", "x").parent_path()) == "store_foreign");
  CHECK(refusal_of(folder.write("newer/rankd-store", "rankd-store 3\n").parent_path()) == "store_newer");
  CHECK(refusal_of(folder.write("damaged/rankd-store", "rankd-store").parent_path()) == "store_corrupt");
  CHECK(refusal_of(folder.write("dataless/rankd-store", "rankd-store 1\n1 8192\n").parent_path()) == "store_corrupt");
}

TEST_CASE("a data file cut short anywhere is refused before it is mapped") {
  const scratch_folder folder;
  make_store(folder.path());
  const fs::path data = data_file(folder.path(), 1);
  const auto whole = fs::file_size(data);
  for (const auto size : {whole - 1, whole - 4096, whole / 2, std::uintmax_t{8192}, std::uintmax_t{4096},
                          std::uintmax_t{1}, std::uintmax_t{0}}) {
    fs::resize_file(data, size);
    CHECK(refusal_of(folder.path()) == "store_truncated");
  }
}

TEST_CASE("a data file that grew is refused") {
  const scratch_folder folder;
  make_store(folder.path());
  fs::resize_file(data_file(folder.path(), 1), fs::file_size(data_file(folder.path(), 1)) + 1);
  CHECK(refusal_of(folder.path()) == "store_corrupt");
}

TEST_CASE("a data file that is not LMDB's is refused") {
  const scratch_folder folder;
  folder.write("rankd-store", "rankd-store 1\n1 16384\n");
  for (const char fill : {'\0', 'x', '\xff'}) {
    folder.write("data-1.mdb", std::string(16384, fill));
    CHECK(refusal_of(folder.path()) == "store_corrupt");
  }
}

TEST_CASE("a damaged record is an error of that record only") {
  const scratch_folder folder;
  auto writer = data_writer::create(data_file(folder.path(), 1), 1 << 20);
  REQUIRE(writer.has_value());
  record_builder builder;
  REQUIRE(writer->put("good", builder.id_list({}, {})).has_value());
  REQUIRE(writer->put("bad", std::as_bytes(std::span("no record, but longer than a header"))).has_value());
  REQUIRE(writer->finish().has_value());
  publish(folder.path(), 1);
  const auto store = embedded_store::open(folder.path());
  REQUIRE(store.has_value());
  const auto snapshot = store->take_snapshot();
  REQUIRE(snapshot.has_value());
  CHECK(snapshot->find("good").value().has_value());
  const auto bad = snapshot->find("bad");
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error() == store_errc::corrupt);
  auto cursor = snapshot->walk();
  REQUIRE(cursor.has_value());
  CHECK(cursor->next().error() == store_errc::corrupt);
}

TEST_CASE("a damaged head of the data file is refused") {
  const scratch_folder folder;
  make_store(folder.path());
  overwrite(data_file(folder.path(), 1), 0, std::string(64, 'x'));
  CHECK(refusal_of(folder.path()) == "store_corrupt");
}

TEST_CASE("a flipped bit in any block is refused, with the block and its bytes") {
  const scratch_folder folder;
  make_store(folder.path());
  const fs::path data = data_file(folder.path(), 1);
  const auto size = fs::file_size(data);
  REQUIRE(size > 4 * block_checksums::block_bytes);
  for (std::uintmax_t at = 1000; at < size; at += 50'000) {
    flip(data, at, static_cast<unsigned>(at % 8));
    const auto store = embedded_store::open(folder.path());
    REQUIRE_FALSE(store.has_value());
    CHECK(store.error().front().code == "store_corrupt");
    const std::uintmax_t block = at / block_checksums::block_bytes;
    const std::string place = "data-1.mdb: block " + std::to_string(block) + " (bytes " +
                              std::to_string(block * block_checksums::block_bytes) + " to ";
    CHECK(store.error().front().message.starts_with(place));
    flip(data, at, static_cast<unsigned>(at % 8));
  }
  CHECK(refusal_of(folder.path()) == "fine");
}

TEST_CASE("checksums that are damaged, of another file, or missing are refused") {
  const scratch_folder folder;
  make_store(folder.path());
  const fs::path sums = checksums_file(folder.path(), 1);
  const auto whole = fs::file_size(sums);
  for (std::uintmax_t at = 0; at < whole; ++at) {
    flip(sums, at, 3);
    CHECK(refusal_of(folder.path()) == "store_corrupt");
    flip(sums, at, 3);
  }
  fs::resize_file(sums, whole - 4);
  CHECK(refusal_of(folder.path()) == "store_corrupt");
  fs::resize_file(sums, 1 << 20);
  CHECK(refusal_of(folder.path()) == "store_corrupt");
  fs::remove(sums);
  CHECK(refusal_of(folder.path()) == "store_corrupt");
  fs::create_directory(sums);
  CHECK(refusal_of(folder.path()) == "store_corrupt");
}

TEST_CASE("a store of format 1, which has no checksums, is opened, and has nothing to scrub") {
  const scratch_folder folder;
  make_store(folder.path());
  const auto size = fs::file_size(data_file(folder.path(), 1));
  folder.write("rankd-store", "rankd-store 1\n1 " + std::to_string(size) + "\n");
  fs::remove(checksums_file(folder.path(), 1));
  auto store = embedded_store::open(folder.path());
  REQUIRE(store.has_value());
  CHECK(sum_of(*store) == whole_sum);
  CHECK(store->scrub(1 << 20).bytes == 0);
  CHECK_FALSE(store->damage().has_value());
}

TEST_CASE("a scrub reads the file piece by piece, again and again, and finds what changed since it was opened") {
  const scratch_folder folder;
  make_store(folder.path());
  auto store = embedded_store::open(folder.path());
  REQUIRE(store.has_value());
  const fs::path data = data_file(folder.path(), 1);
  const auto size = fs::file_size(data);
  for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{200'000}, std::uint64_t{1} << 30U}) {
    std::uint64_t read = 0;
    for (bool ends = false; !ends;) {
      const scrub_step done = store->scrub(step);
      REQUIRE(done.bytes > 0);
      CHECK(done.bytes <= std::max<std::uint64_t>(step, block_checksums::block_bytes));
      read += done.bytes;
      ends = done.ends_round;
    }
    CHECK(read == size);
  }
  CHECK_FALSE(store->damage().has_value());

  flip(data, 3 * block_checksums::block_bytes + 5, 0);  // which is in no page that a look-up of this test reads
  CHECK(store->take_snapshot().has_value());
  while (!store->damage()) REQUIRE(store->scrub(block_checksums::block_bytes).ends_round == false);
  CHECK(store->damage()->block == 3);
  const auto refused = store->take_snapshot();
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == store_errc::corrupt);
  CHECK(store->scrub(1 << 20).bytes == 0);
  flip(data, 3 * block_checksums::block_bytes + 5, 0);
  CHECK_FALSE(store->take_snapshot().has_value());  // what was damaged once is not trusted again
}

TEST_CASE("a block that the file does not have any more is damage") {
  const scratch_folder folder;
  make_store(folder.path());
  auto store = embedded_store::open(folder.path());
  REQUIRE(store.has_value());
  const fs::path data = data_file(folder.path(), 1);
  fs::resize_file(data, 2 * block_checksums::block_bytes + 100);
  CHECK(store->scrub(1 << 30).bytes == 0);
  REQUIRE(store->damage().has_value());
  CHECK(store->damage()->block == 2);
  CHECK(store->damage()->unreadable == std::errc::io_error);
}

TEST_CASE("a store that is open keeps its generation while another one replaces it") {
  const scratch_folder folder;
  make_store(folder.path());
  const auto old = embedded_store::open(folder.path());
  REQUIRE(old.has_value());
  auto writer = data_writer::create(data_file(folder.path(), 2), 1 << 20);
  REQUIRE(writer.has_value());
  REQUIRE(writer->finish().has_value());
  publish(folder.path(), 2);
  remove_other_generations(folder.path(), 2);
  CHECK(sum_of(*old) == whole_sum);

  const auto fresh = embedded_store::open(folder.path());
  REQUIRE(fresh.has_value());
  CHECK(fresh->manifest().generation == 2);
  CHECK_FALSE(fresh->take_snapshot().value().find("list:1").value().has_value());
}

TEST_CASE("threads read at once, and a snapshot may move between them") {
  const scratch_folder folder;
  make_store(folder.path());
  auto store = embedded_store::open(folder.path());
  REQUIRE(store.has_value());
  std::vector<std::size_t> sums(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    auto snapshot = store->take_snapshot();
    REQUIRE(snapshot.has_value());
    threads.emplace_back([&sums, i, own = std::move(*snapshot)] {
      for (int key = 0; key < lists; ++key) sums[i] += own.find("list:" + std::to_string(key)).value().value().count();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t sum : sums) CHECK(sum == whole_sum);
}

TEST_CASE("more snapshots may be open than any table of readers has places") {
  const scratch_folder folder;
  make_store(folder.path());
  const auto store = embedded_store::open(folder.path());
  REQUIRE(store.has_value());
  std::vector<embedded_store::snapshot> open;
  for (int i = 0; i < 3000; ++i) {
    auto snapshot = store->take_snapshot();
    REQUIRE(snapshot.has_value());
    open.push_back(std::move(*snapshot));
  }
  CHECK(open.back().find("list:3").value().has_value());
}
