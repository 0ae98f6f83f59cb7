// tests/rankd/plan/folder_image_test.cpp: a folder read as of one moment, while somebody writes into it.
#include <rankd/plan/folder_image.hpp>

#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::scratch_folder;

namespace {

namespace fs = std::filesystem;

/// A disk on which somebody does something behind some of the reads, which count from 1.
struct busy_disk {
  std::function<void(int)> behind_read;
  int reads = 0;

  auto reader() -> file_reader {
    return [this](const fs::path& file) {
      auto text = read_text_file(file);
      behind_read(++reads);
      return text;
    };
  }
};

auto index_row(const std::string& name, const std::string& text) -> std::string {
  return R"({"name":")" + name + R"(","path":")" + name + R"(.json","digest":")" + sha256_hex(text) + "\"}";
}

auto index_of(const std::string& rows) -> std::string { return R"({"schema_version":1,"plans":[)" + rows + "]}"; }

template <typename T>
auto codes_of(const braid::checked<T>& made) -> std::vector<std::string> {
  std::vector<std::string> codes;
  if (!made)
    for (const auto& each : made.error()) codes.push_back(each.code);
  return codes;
}

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("an image has the artifacts in the order of their names, with their bytes") {
  const scratch_folder folder;
  folder.write("b.json", "two");
  folder.write("a.json", "one");
  folder.write("README.md", "no plan");
  const auto image = read_folder_image(folder.path());
  REQUIRE(image);
  REQUIRE(image->size() == 2);
  CHECK((*image)[0].name == "a");
  CHECK((*image)[0].text == "one");
  CHECK((*image)[0].file == folder.path() / "a.json");
  CHECK((*image)[1].text == "two");
}

TEST_CASE("what changes while it is read is read again") {
  const scratch_folder folder;
  folder.write("a.json", "old");
  folder.write("b.json", "old");
  // Both are exchanged between the reads of the first and the second: neither mixture may come out.
  busy_disk disk{[&](int reads) {
    if (reads != 1) return;
    folder.write("a.json", "new");
    folder.write("b.json", "new");
  }};
  const auto image = read_folder_image(folder.path(), disk.reader());
  REQUIRE(image);
  CHECK((*image)[0].text == "new");
  CHECK((*image)[1].text == "new");
  CHECK(disk.reads > 4);
}

TEST_CASE("files that come or go while a folder is read are noticed") {
  const scratch_folder folder;
  folder.write("a.json", "a");
  busy_disk coming{[&](int reads) {
    if (reads == 1) folder.write("b.json", "b");
  }};
  const auto more = read_folder_image(folder.path(), coming.reader());
  REQUIRE(more);
  CHECK(more->size() == 2);

  busy_disk going{[&](int reads) {
    if (reads == 2) fs::remove(folder.path() / "a.json");
  }};
  const auto fewer = read_folder_image(folder.path(), going.reader());
  REQUIRE(fewer);
  CHECK(fewer->size() == 1);
  CHECK(fewer->front().name == "b");
}

TEST_CASE("a folder that never stands still is refused") {
  const scratch_folder folder;
  folder.write("a.json", "0");
  busy_disk disk{[&](int reads) { folder.write("a.json", std::to_string(reads)); }};
  CHECK((codes_of(read_folder_image(folder.path(), disk.reader())) == names{"folder_changing"}));
  CHECK(disk.reads < 20);
}

TEST_CASE("a folder that goes away while it is read is refused") {
  const scratch_folder folder;
  folder.write("plans/a.json", "a");
  busy_disk disk{[&](int) { fs::remove_all(folder.path() / "plans"); }};
  CHECK((codes_of(read_folder_image(folder.path() / "plans", disk.reader())) == names{"unreadable_folder"}));
}

TEST_CASE("all files that cannot be read are told, and the index too") {
  const scratch_folder folder;
  fs::create_directories(folder.path() / "a.json");
  folder.write("b.json", "b");
  fs::create_symlink(folder.path() / "nowhere", folder.path() / "c.json");
  CHECK((codes_of(read_folder_image(folder.path())) == names{"unreadable_file", "unreadable_file"}));
  fs::create_directories(folder.path() / "index.json");
  CHECK((codes_of(read_folder_image(folder.path())) == names{"unreadable_file", "unreadable_file", "unreadable_file"}));
}

TEST_CASE("the index is held against the bytes that were read, not against those of later") {
  const scratch_folder folder;
  folder.write("a.json", "old");
  folder.write("index.json", index_of(index_row("a", "old")));
  CHECK(read_folder_image(folder.path()));

  busy_disk disk{[&](int reads) {
    if (reads == 3) folder.write("a.json", "new");  // behind its second read: the image has the old bytes
  }};
  const auto image = read_folder_image(folder.path(), disk.reader());
  REQUIRE(image);
  CHECK(image->front().text == "old");
  CHECK((codes_of(read_folder_image(folder.path())) == names{"digest_mismatch"}));
  folder.write("index.json", index_of(index_row("a", "new")));
  CHECK(read_folder_image(folder.path()));
}

TEST_CASE("where faults are kept they are with the artifacts that have them, and those of the whole index refuse all") {
  const scratch_folder folder;
  folder.write("a.json", "one");
  folder.write("b.json", "two");
  folder.write("c.json", "three");
  const auto row_of_gone = index_row("gone", "four");
  folder.write("index.json", index_of(index_row("a", "one") + "," + index_row("b", "old") + "," + row_of_gone));
  CHECK((codes_of(read_folder_image(folder.path())) == names{"digest_mismatch", "unknown_artifact", "not_indexed"}));

  const auto image = read_folder_image(folder.path(), {}, image_faults::kept);
  REQUIRE(image);
  std::string all;
  for (const artifact_image& each : *image)
    all += each.name + (each.problems.empty() ? "" : ":" + each.problems.front().code) + " ";
  CHECK(all == "a b:digest_mismatch c:not_indexed gone:unknown_artifact ");
  CHECK((*image)[1].problems.front().source == (folder.path() / "index.json").string());

  folder.write("index.json", R"({"schema_version":2,"plans":[{"name":3}]})");
  CHECK((codes_of(read_folder_image(folder.path(), {}, image_faults::kept)).front() == "out_of_range"));
  folder.write("index.json", "{");
  CHECK((codes_of(read_folder_image(folder.path(), {}, image_faults::kept)) == names{"json_syntax"}));
}
