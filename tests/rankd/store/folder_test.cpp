// tests/rankd/store/folder_test.cpp: what counts as a store's folder, and the lock for writing into it.
#include <rankd/store/folder.hpp>

#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;
namespace fs = std::filesystem;

auto code_of(const fs::path& folder) -> std::string {
  const auto manifest = read_manifest(folder);
  if (manifest) return "fine";
  CHECK(manifest.error().size() == 1);
  CHECK(manifest.error().front().source == folder.string());
  return manifest.error().front().code;
}

}  // namespace

TEST_CASE("a manifest that was written is read back, and the next one replaces it") {
  const scratch_folder folder;
  for (const store_manifest manifest : {store_manifest{1, 4096}, store_manifest{18'446'744'073'709'551'615U, 0},
                                        store_manifest{2, 4096, 0}, store_manifest{3, 4096, 4'294'967'295U}}) {
    REQUIRE(write_manifest(folder.path(), manifest).has_value());
    CHECK(read_manifest(folder.path()) == manifest);
  }
  CHECK_FALSE(fs::exists(folder.path() / "rankd-store.new"));
}

TEST_CASE("a manifest that cannot be written is an error of the system") {
  const scratch_folder folder;
  const auto written = write_manifest(folder.path() / "absent", {1, 2});
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error() == std::errc::no_such_file_or_directory);
}

TEST_CASE("nothing, an empty folder and the leftovers of a first load are a missing store") {
  const scratch_folder folder;
  CHECK(code_of(folder.path() / "absent") == "store_missing");
  CHECK(code_of(folder.path()) == "store_missing");
  folder.write("data-1.mdb", "half");
  folder.write("data-1.sums", "h");
  folder.write("rankd-store.new", "rankd-");
  CHECK(code_of(folder.path()) == "store_missing");
}

TEST_CASE("a file, and a folder of somebody else, are foreign") {
  const scratch_folder folder;
  CHECK(code_of(folder.write("file", "text")) == "store_foreign");
  CHECK(code_of(folder.write("lmdb/data.mdb", "text").parent_path()) == "store_foreign");
  folder.write("mixed/data-1.mdb", "text");
  folder.write("mixed/letter.txt", "text");
  CHECK(code_of(folder.path() / "mixed") == "store_foreign");
}

TEST_CASE("each damage of a manifest has its code") {
  struct damaged {
    std::string text;
    std::string code;
  };
  const std::vector<damaged> table = {
      {"", "store_corrupt"},
      {"rankd-store", "store_corrupt"},
      {"rankd-store \n", "store_corrupt"},
      {"rankd-store 0\n1 2\n", "store_corrupt"},
      {"rankd-store x\n1 2\n", "store_corrupt"},
      {"another 1\n1 2\n", "store_corrupt"},
      {"rankd-store 1\n", "store_corrupt"},
      {"rankd-store 1\n1\n", "store_corrupt"},
      {"rankd-store 1\n1 2", "store_corrupt"},
      {"rankd-store 1\n-1 2\n", "store_corrupt"},
      {"rankd-store 1\n1 2\nmore\n", "store_corrupt"},
      {"rankd-store 1\n99999999999999999999 2\n", "store_corrupt"},
      {std::string(1000, 'x'), "store_corrupt"},
      {"rankd-store 3\n", "store_newer"},
      {"rankd-store 7\nwhatever comes\n", "store_newer"},
      {"rankd-store 1\n1 2\n", "fine"},
      {"rankd-store 2\n1 2\n", "store_corrupt"},
      {"rankd-store 2\n1 2 3\n", "store_corrupt"},
      {"rankd-store 2\n1 2 3\n4\n", "store_corrupt"},
      {"rankd-store 2\n1 2 4294967296\n4\n", "store_corrupt"},
      {"rankd-store 1\n1 2 3\n", "store_corrupt"},
  };
  const scratch_folder folder;
  for (const damaged& row : table) {
    CAPTURE(row.text);
    folder.write("rankd-store", row.text);
    CHECK(code_of(folder.path()) == row.code);
  }
}

TEST_CASE("no flipped bit of a manifest, and no cut, leaves it fine") {
  const scratch_folder folder;
  REQUIRE(write_manifest(folder.path(), {12, 4096, 123'456'789U}).has_value());
  std::ifstream in(folder.path() / "rankd-store", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(static_cast<unsigned char>(damaged[bit / 8]) ^ (1U << (bit % 8)));
    folder.write("rankd-store", damaged);
    CAPTURE(damaged);
    CHECK(code_of(folder.path()) != "fine");
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    folder.write("rankd-store", whole.substr(0, size));
    CHECK(code_of(folder.path()) == "store_corrupt");
  }
}

TEST_CASE("a manifest that cannot be read is said to be so") {
  const scratch_folder folder;
  fs::create_directory(folder.path() / "rankd-store");
  CHECK(code_of(folder.path()) == "store_unreadable");
}

TEST_CASE("only data files of other generations are removed") {
  const scratch_folder folder;
  for (const char* name : {"data-1.mdb", "data-1.sums", "data-2.mdb", "data-2.sums", "data-12.mdb", "data-12.sums",
                           "rankd-store", "letter.txt", "notes.sums"})
    folder.write(name, "text");
  remove_other_generations(folder.path(), 2);
  std::vector<std::string> left;
  for (const auto& item : fs::directory_iterator(folder.path())) left.push_back(item.path().filename().string());
  std::sort(left.begin(), left.end());
  CHECK(left == std::vector<std::string>{"data-2.mdb", "data-2.sums", "letter.txt", "notes.sums", "rankd-store"});
}

TEST_CASE("one holder has the lock until it is gone") {
  const scratch_folder folder;
  {
    const auto held = folder_lock::acquire(folder.path(), lock_wait::give_up);
    REQUIRE(held.has_value());
    const auto refused = folder_lock::acquire(folder.path(), lock_wait::give_up);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error() == std::errc::operation_would_block);
  }
  CHECK(folder_lock::acquire(folder.path(), lock_wait::give_up).has_value());
  CHECK(folder_lock::acquire(folder.path(), lock_wait::until_free).has_value());
}
