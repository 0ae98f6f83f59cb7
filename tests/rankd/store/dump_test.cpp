// tests/rankd/store/dump_test.cpp: what is dumped loads again as the same records; what would not is refused.
#include <rankd/store/dump.hpp>

#include <rankd/store/data_writer.hpp>
#include <rankd/store/load_store.hpp>

#include <tests/support/scratch_folder.hpp>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;
namespace fs = std::filesystem;

auto dump(const fs::path& folder, const dump_options& options = {}) -> std::string {
  std::string out;
  const auto lines = dump_store(folder, options, [&out](std::string_view text) -> braid::result<void> {
    out += text;
    return {};
  });
  REQUIRE_MESSAGE(lines.has_value(), (lines ? "" : lines.error().to_text()));
  return out;
}

void load(const fs::path& folder, const fs::path& file) {
  const auto loaded = load_store(folder, std::vector{file}, {});
  REQUIRE_MESSAGE(loaded.has_value(), (loaded ? "" : loaded.error().to_text()));
}

/// The code of what `dump_store` has against a folder, into a sink that takes everything.
auto refusal_of(const fs::path& folder) -> std::string {
  const auto lines = dump_store(folder, {}, [](std::string_view) -> braid::result<void> { return {}; });
  if (lines) return "fine";
  CHECK(lines.error().front().source == folder.string());
  return lines.error().front().code;
}

/// A store with one record, whatever it holds.
void make_store(const fs::path& folder, std::string_view key, std::span<const std::byte> record) {
  fs::create_directories(folder);
  auto writer = data_writer::create(data_file(folder, 1), std::size_t{1} << 28U);
  REQUIRE(writer.has_value());
  REQUIRE(writer->put(key, record).has_value());
  REQUIRE(writer->finish().has_value());
  REQUIRE(write_manifest(folder, seal_generation(folder, 1).value()).has_value());
}

}  // namespace

TEST_CASE("keys come in bytewise order, each record in the form that a load reads") {
  const scratch_folder folder;
  load(folder.path() / "db", folder.write("data.ndjson", R"({"values":[3,-1],"list":"b"}
{"fields":{"z":"1","a":""},"hash":"user:1"}
{"list":"é","values":[]}
{"hash":"B","fields":{}}
{"list":"b\u0000","values":["x",7,""]}
)"));
  CHECK(dump(folder.path() / "db") == R"({"hash":"B","fields":{}}
{"list":"b","values":[3,-1]}
{"list":"b\u0000","values":["x","7",""]}
{"hash":"user:1","fields":{"a":"","z":"1"}}
{"list":"é","values":[]}
)");
}

TEST_CASE("a dump that is loaded gives the same dump") {
  const scratch_folder folder;
  const std::string longest(511, 'k');
  load(folder.path() / "db",
       folder.write("data.ndjson", R"({"list":"extremes","values":[9223372036854775807,-9223372036854775808,0]}
{"list":"digits","values":["1","2"]}
{"list":"mixed","values":[1,"","x",-9223372036854775808]}
{"hash":"control","fields":{"a\u0000b":"\u0001\u001f\u007f\n\t\"\\","e":"","\u2028":"😀"}}
{"hash":"empty","fields":{}}
{"set":"members","members":[17,"b",9,"\u0001",-3]}
{"sorted_set":"scores","scores":{"17":0.1,"b":-3,"9":-3,"\u0001":9007199254740993,"":1e-300}}
{"set":"no members","members":[]}
{"sorted_set":"no scores","scores":{}}
{"string":"text","value":"\u0001\"9.5\u20ac"}
{"string":"no text","value":""}
)"
                                   "{\"list\":\"" +
                                       longest + "\",\"values\":[5]}\n{\"hash\":\"" + std::string(510, 'k') +
                                       "\",\"fields\":{\"n\":\"v\"}}\n"));
  const std::string first = dump(folder.path() / "db");
  CHECK(first.find(R"("values":["1","2"]})") != std::string::npos);
  CHECK(first.find(R"("values":["1","","x","-9223372036854775808"]})") != std::string::npos);
  CHECK(first.find(R"({"set":"members","members":["\u0001","-3","17","9","b"]})") != std::string::npos);
  CHECK(first.find(R"("scores":{"9":-3,"b":-3,"":1e-300,"17":0.1,"\u0001":9007199254740992}})") != std::string::npos);
  CHECK(first.find(R"({"string":"no text","value":""})") != std::string::npos);
  CHECK(first.find(R"({"string":"text","value":"\u0001\"9.5)") != std::string::npos);
  CHECK(first.find(longest) != std::string::npos);
  load(folder.path() / "again", folder.write("dump.ndjson", first));
  CHECK(dump(folder.path() / "again") == first);
}

TEST_CASE("vectors are dumped as numbers, or as text where their bytes are text, and come back as the same bytes") {
  const scratch_folder folder;
  // The bytes of the second are four times zero: text that JSON can write.
  folder.write("a.ndjson", R"({"hash":"a","fields":{"v":[0.1,-1,1e10,-0.0],"w":[0],"x":[2.5e-44]}})"
                           "\n");
  load(folder.path() / "s", folder.path() / "a.ndjson");
  const std::string first = dump(folder.path() / "s");
  CHECK(first.starts_with(R"({"hash":"a","fields":{"v":[0.1,-1,1e+10,-0.0],"w":"\u0000\u0000\u0000\u0000","x":)"));
  folder.write("b.ndjson", first);
  load(folder.path() / "t", folder.path() / "b.ndjson");
  CHECK(dump(folder.path() / "t") == first);
}

TEST_CASE("the reference data comes back as it is written") {
  const scratch_folder folder;
  REQUIRE(load_if_missing(folder.path() / "db", "data/reference", {}));
  const std::string first = dump(folder.path() / "db");
  load(folder.path() / "again", folder.write("dump.ndjson", first));
  CHECK(dump(folder.path() / "again") == first);
}

TEST_CASE("a prefix chooses the keys that begin with it") {
  const scratch_folder folder;
  std::string data;
  for (const char* key : {"a", "ab", "abc", "abd", "ac", "b"})
    data += "{\"list\":\"" + std::string(key) + "\",\"values\":[]}\n";
  load(folder.path() / "db", folder.write("data.ndjson", data));
  const auto keys = [&](std::string_view prefix) {
    const std::string lines = dump(folder.path() / "db", {.prefix = prefix});
    return std::count(lines.begin(), lines.end(), '\n');
  };
  CHECK(keys("") == 6);
  CHECK(keys("a") == 5);
  CHECK(keys("ab") == 3);
  CHECK(keys("abc") == 1);
  CHECK(keys("abcd") == 0);
  CHECK(keys("c") == 0);
  CHECK(keys(std::string(600, 'a')) == 0);
}

TEST_CASE("large stores are written in pieces of whole lines, with progress up to the last record") {
  const scratch_folder folder;
  std::string data;
  for (int i = 0; i < 200; ++i)
    data += "{\"hash\":\"k" + std::to_string(i) + "\",\"fields\":{\"f\":\"" + std::string(20'000, 'x') + "\"}}\n";
  load(folder.path() / "db", folder.write("data.ndjson", data));
  std::vector<dump_progress> seen;
  std::size_t pieces = 0;
  const dump_options options{.prefix = {}, .progress = [&](const dump_progress& at) { seen.push_back(at); }};
  const auto lines = dump_store(folder.path() / "db", options, [&](std::string_view text) -> braid::result<void> {
    CHECK(text.ends_with("}}\n"));
    ++pieces;
    return {};
  });
  CHECK(lines.value() == 200);
  CHECK(pieces > 2);
  CHECK(seen.size() == pieces);
  CHECK(seen.front().records_done < 200);
  CHECK(seen.back().records_done == 200);
  CHECK(seen.back().records_total == 200);
}

TEST_CASE("an output that refuses ends the dump, with its reason") {
  const scratch_folder folder;
  load(folder.path() / "db", folder.write("data.ndjson", "{\"list\":\"a\",\"values\":[]}\n"));
  const auto lines = dump_store(folder.path() / "db", {.output = "all.ndjson"}, [](std::string_view) {
    return braid::result<void>(braid::fail(std::make_error_code(std::errc::no_space_on_device)));
  });
  REQUIRE_FALSE(lines.has_value());
  CHECK(lines.error().front().code == "output_unwritable");
  CHECK(lines.error().front().message.ends_with("No space left on device"));
  CHECK(lines.error().front().source == "all.ndjson");
}

TEST_CASE("a store that is none, foreign, newer or cut short is refused as by whoever else opens it") {
  const scratch_folder folder;
  CHECK(refusal_of(folder.path() / "nowhere") == "store_missing");
  CHECK(refusal_of(folder.write("other/file", "").parent_path()) == "store_foreign");
  const fs::path db = folder.path() / "db";
  load(db, folder.write("data.ndjson", "{\"list\":\"a\",\"values\":[]}\n"));
  CHECK(refusal_of(db) == "fine");
  fs::resize_file(data_file(db, 1), fs::file_size(data_file(db, 1)) - 1);
  CHECK(refusal_of(db) == "store_truncated");
  folder.write("db/rankd-store", "rankd-store 3\n1 1\n");
  CHECK(refusal_of(db) == "store_newer");
}

TEST_CASE("a record that no load would read is named instead of being changed") {
  const scratch_folder folder;
  record_builder builder;
  const std::vector<std::string_view> texts{"fine", "\xff"};
  const std::vector<hash_field> binary_value{{"a", "\xc3("}};
  const std::vector<hash_field> binary_name{{"\x80", "a"}};
  const std::vector<hash_field> nameless{{"", "a"}};
  const std::string long_text(std::size_t{3} << 20U, '\x01');  // six bytes each as JSON
  const std::vector<hash_field> long_value{{"a", long_text}};
  int number = 0;
  const auto refusal = [&](std::string_view key, std::span<const std::byte> record) {
    const fs::path db = folder.path() / std::to_string(++number);
    make_store(db, key, record);
    return refusal_of(db);
  };
  CHECK(refusal("k", builder.text_list(texts, {})) == "not_loadable");
  CHECK(refusal("k", builder.hash(binary_value, {})) == "not_loadable");
  CHECK(refusal("k", builder.hash(binary_name, {})) == "not_loadable");
  CHECK(refusal("k", builder.hash(nameless, {})) == "not_loadable");
  CHECK(refusal("k", builder.hash(long_value, {})) == "not_loadable");
  CHECK(refusal("k\xff", builder.id_list({}, {})) == "not_loadable");
  CHECK(refusal("k", builder.id_list({}, {})) == "fine");
}
