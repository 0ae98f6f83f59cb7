// tests/rankd/store/vector_merge_test.cpp: a list of changes in a store, and the file that has them.
#include <rankd/store/vector_merge.hpp>

#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/error.hpp>
#include <rankd/store/load_store.hpp>
#include <tests/rankd/store/aligned_bytes.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::scratch_folder;
using rankd::testing::aligned_bytes;

namespace {

const vector_changes_policy list{.endpoint_id = "ep_0001", .set = "changed", .key = "p:{id}", .field = "v"};

/// A file of vectors in memory.
struct file_in_memory {
  aligned_bytes bytes;
  std::shared_ptr<const vector_file> file;

  explicit file_in_memory(const std::string& made)
      : bytes(made), file(vector_file::parse(bytes.view(), "v.rvec").value()) {}
};

auto file_of(const std::string& lines, const vector_lists& lists = {}) -> file_in_memory {
  const scratch_folder folder;
  const std::vector from{folder.write("v.ndjson", lines)};
  return file_in_memory(vector_file_bytes(read_vectors(from, 0).value(), lists));
}

/// A store of these records.
struct filled_store {
  scratch_folder folder;
  embedded_store data;

  explicit filled_store(const std::string& lines) : data(load(folder, lines)) {}

  [[nodiscard]] auto read(const vector_file& base) const -> braid::result<std::vector<listed_vector>> {
    const auto snapshot = data.take_snapshot();
    return read_listed(snapshot.value(), list, base);
  }
  [[nodiscard]] auto count() const -> braid::result<std::size_t> {
    return count_listed(data.take_snapshot().value(), list);
  }

 private:
  static auto load(const scratch_folder& into, const std::string& lines) -> embedded_store {
    const std::vector from{into.write("data.ndjson", lines)};
    REQUIRE(load_store(into.path() / "store", from, {}).has_value());
    return embedded_store::open(into.path() / "store").value();
  }
};

/// The ids of a list, those without a vector with a minus before them.
auto spelled(const std::vector<listed_vector>& all) -> std::string {
  std::string out;
  for (const listed_vector& each : all) out += (each.vector.empty() ? " -" : " ") + to_text(each.id);
  return out;
}

}  // namespace

TEST_CASE("a list has the vectors of its ids, and deletes those without one that plans would read") {
  const file_in_memory base = file_of("{\"id\":1,\"vector\":[1,0]}\n{\"id\":2,\"vector\":[0,1]}\n");
  const filled_store store(R"({"set":"changed","members":["1","2","3","4","05","x","6"]}
{"hash":"p:1","fields":{"v":[1,0]}}
{"hash":"p:2","fields":{"v":[1,0,0]}}
{"hash":"p:3","fields":{"w":"1"}}
{"hash":"p:05","fields":{"v":[1,1]}}
{"hash":"p:6","fields":{"v":[6,6]}}
)");
  CHECK(store.count().value() == 7);
  const auto read = store.read(*base.file).value();
  CHECK(spelled(read) == " 1 -2 -3 -4 6");  // `05` and `x` are no ids
  CHECK(is_merged(*base.file, read[0]));
  CHECK_FALSE(is_merged(*base.file, read[1]));  // the file still has it
  CHECK(is_merged(*base.file, read[2]));
  CHECK_FALSE(is_merged(*base.file, read[4]));

  const built_vectors merged = merge_vectors(*base.file, to_changes(read, *base.file)).value();
  CHECK(merged.vectors == 2);
  const file_in_memory after(merged.bytes);
  for (const listed_vector& each : read) CHECK(is_merged(*after.file, each));
  const file_in_memory built = file_of("{\"id\":6,\"vector\":[6,6]}\n{\"id\":1,\"vector\":[1,0]}\n");
  CHECK(after.file->digest() == built.file->digest());
}

TEST_CASE("another vector under the same id is not merged") {
  const file_in_memory base = file_of("{\"id\":1,\"vector\":[1,0]}\n");
  const filled_store store("{\"set\":\"changed\",\"members\":[1]}\n{\"hash\":\"p:1\",\"fields\":{\"v\":[1,2]}}\n");
  CHECK_FALSE(is_merged(*base.file, store.read(*base.file).value().front()));
}

TEST_CASE("ids that are strings are escaped in the keys of their hashes, and stay what they are in the file") {
  const file_in_memory base = file_of("{\"id\":\"a\",\"vector\":[1,0]}\n{\"id\":\"b\",\"vector\":[1,1]}\n");
  const filled_store store(R"({"set":"changed","members":["item:7","b"]}
{"hash":"p:item%3A7","fields":{"v":[2,2]}}
)");
  const auto read = store.read(*base.file).value();
  CHECK(spelled(read) == " -b item:7");
  const file_in_memory after(merge_vectors(*base.file, to_changes(read, *base.file)).value().bytes);
  const file_in_memory built = file_of("{\"id\":\"item:7\",\"vector\":[2,2]}\n{\"id\":\"a\",\"vector\":[1,0]}\n");
  CHECK(after.file->digest() == built.file->digest());
}

TEST_CASE("a file keeps its lists, unless fewer vectors are left, and its seed") {
  const file_in_memory base = file_of(
      "{\"id\":1,\"vector\":[1]}\n{\"id\":2,\"vector\":[2]}\n{\"id\":3,\"vector\":[3]}\n", {.count = 3, .seed = 9});
  vector_changes gone;
  gone.changed.dimensions = 1;
  gone.deleted = {row_id(std::int64_t{2})};
  const built_vectors merged = merge_vectors(*base.file, std::move(gone)).value();
  CHECK(std::get<vector_lists>(merged.index).count == 2);
  CHECK(file_in_memory(merged.bytes).file->seed() == 9);
}

TEST_CASE("what cannot be merged is refused") {
  const file_in_memory base = file_of("{\"id\":1,\"vector\":[1]}\n");
  vector_changes all;
  all.changed.dimensions = 1;
  all.deleted = {row_id(std::int64_t{1})};
  CHECK(merge_vectors(*base.file, std::move(all)).error().front().code == "no_vectors");

  const filled_store other("{\"list\":\"changed\",\"values\":[1]}\n");
  CHECK(other.read(*base.file).error() == store_errc::wrong_type);
  CHECK(other.count().error() == store_errc::wrong_type);
  const filled_store no_hash("{\"set\":\"changed\",\"members\":[1]}\n{\"list\":\"p:1\",\"values\":[1]}\n");
  CHECK(no_hash.read(*base.file).error() == store_errc::wrong_type);
  const filled_store empty("{\"list\":\"other\",\"values\":[1]}\n");
  CHECK(empty.count().value() == 0);
  CHECK(empty.read(*base.file).value().empty());
}
