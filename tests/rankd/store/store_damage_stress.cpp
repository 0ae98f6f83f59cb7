// tests/rankd/store/store_damage_stress.cpp: no damage to the files of a store ends the process or changes an answer.
#include <rankd/store/embedded.hpp>
#include <rankd/store/error.hpp>
#include <rankd/store/load_store.hpp>

#include <braid/base/random.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/seed.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;
namespace fs = std::filesystem;

constexpr std::size_t rounds = 500;

/// Hashes and lists, some of them longer than a page.
auto made_data() -> std::string {
  std::string text;
  for (int user = 1; user <= 400; ++user) {
    const std::string id = std::to_string(user);
    text += R"({"hash":"user:)" + id + R"(","fields":{"country":"US","title":"User )" + id + "\"}}\n";
    text += R"({"list":"follow:)" + id + R"(","values":[)";
    const int friends = user % 50 == 0 ? 2000 : user % 40;
    for (int at = 0; at <= friends; ++at) text += (at == 0 ? "" : ",") + std::to_string(user * 100 + at);
    text += "]}\n";
  }
  return text;
}

auto content_of(const fs::path& file) -> std::string {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void replace_content(const fs::path& file, std::string_view content) {
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.write(content.data(), static_cast<std::streamsize>(content.size())).flush();
  REQUIRE(out.good());
}

using records = std::map<std::string, std::string>;

/// Every record, by a walk and by its key.
auto all_records(const embedded_store& store) -> records {
  records all;
  const auto snapshot = store.take_snapshot().value();
  auto cursor = snapshot.walk().value();
  for (auto entry = cursor.next().value(); entry; entry = cursor.next().value()) {
    const auto found = snapshot.find(entry->key).value().value();
    REQUIRE(found.bytes().data() == entry->record.bytes().data());
    all[std::string(entry->key)].assign(reinterpret_cast<const char*>(found.bytes().data()), found.bytes().size());
  }
  return all;
}

class damaged_store {
 public:
  explicit damaged_store(std::uint64_t seed) : random_(seed) {
    REQUIRE(load_store(path(), std::vector{folder_.write("data.ndjson", made_data())}, {}).has_value());
    for (const fs::path& file : {data_file(path(), 1), checksums_file(path(), 1), path() / "rankd-store"})
      files_.emplace_back(file, content_of(file));
  }

  [[nodiscard]] auto path() const -> fs::path { return folder_.path() / "db"; }

  /// Changes the data file, or in one round of eight another file; false where all bytes are as they were.
  auto damage() -> bool {
    at_ = below(8) == 0 ? 1 + below(2) : 0;
    return damage_file();
  }
  auto damage_data() -> bool {
    at_ = 0;
    return damage_file();
  }
  void mend() { replace_content(files_[at_].first, files_[at_].second); }

 private:
  auto below(std::size_t bound) -> std::size_t { return static_cast<std::size_t>(random_.below(bound)); }

  auto damage_file() -> bool {
    std::string bytes = files_[at_].second;
    switch (below(6)) {
      case 0:  // several bits
        for (std::size_t more = 1 + below(8); more-- > 0;) flip(bytes);
        break;
      case 1: {  // a sector that was never written
        const std::size_t from = below(bytes.size()) / 512 * 512;
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(from), std::min<std::size_t>(512, bytes.size() - from),
                    0);
        break;
      }
      case 2: {  // a page that was written to the place of another
        const std::size_t pages = bytes.size() / 4096;
        if (pages > 1) bytes.replace(below(pages) * 4096, 4096, bytes.substr(below(pages) * 4096, 4096));
        break;
      }
      default: flip(bytes);
    }
    replace_content(files_[at_].first, bytes);
    return bytes != files_[at_].second;
  }

  void flip(std::string& bytes) {
    const std::size_t at = below(bytes.size());
    bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << below(8)));
  }

  scratch_folder folder_;
  braid::random_source random_;
  std::vector<std::pair<fs::path, std::string>> files_;  // with what is in them
  std::size_t at_ = 0;                                   // that is damaged
};

}  // namespace

TEST_CASE("a store whose files were damaged is refused when it is opened") {
  damaged_store files(braid::testing::printed_seed());
  const records truth = all_records(embedded_store::open(files.path()).value());
  REQUIRE(truth.size() == 800);
  std::size_t refused = 0;
  const std::size_t count = braid::testing::scaled(rounds);
  for (std::size_t round = 0; round < count; ++round) {
    const bool is_damaged = files.damage();
    const auto store = embedded_store::open(files.path());
    CHECK(store.has_value() != is_damaged);
    if (store) CHECK(all_records(*store) == truth);
    if (!store) ++refused;
    if (!store && store.error().front().code != "store_newer") CHECK(store.error().front().code == "store_corrupt");
    files.mend();
  }
  std::printf("%zu damages, %zu refused\n", count, refused);
  CHECK(all_records(embedded_store::open(files.path()).value()) == truth);
}

TEST_CASE("a store that is damaged while it is open answers nothing after the scrub has come by") {
  damaged_store files(braid::testing::printed_seed());
  const std::size_t count = braid::testing::scaled(rounds);
  for (std::size_t round = 0; round < count; ++round) {
    auto store = embedded_store::open(files.path()).value();
    const bool is_damaged = files.damage_data();
    while (!store.damage() && !store.scrub(1 << 20).ends_round) {}
    CHECK(store.damage().has_value() == is_damaged);
    CHECK(store.take_snapshot().has_value() != is_damaged);
    files.mend();
  }
}
