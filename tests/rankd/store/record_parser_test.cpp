// tests/rankd/store/record_parser_test.cpp: what a line of data may say, and the diagnostic for each way to be wrong.
#include <rankd/store/record_parser.hpp>

#include <rankd/registry/file.hpp>

#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;

/// A line with the room behind it that the parser wants.
struct padded {
  explicit padded(std::string_view text, std::uint32_t number = 17) : storage(text) {
    const std::size_t size = text.size();
    storage.resize(size + line_reader::padding);
    line = {std::string_view(storage).substr(0, size), number, false};
  }
  std::string storage;
  text_line line;
};

auto errors_of(std::string_view text) -> braid::diagnostics {
  record_parser parser;
  const padded line(text);
  const auto parsed = parser.parse(line.line, 0);
  REQUIRE_FALSE(parsed.has_value());
  return parsed.error();
}

struct bad_line {
  std::string text;
  std::vector<std::string> codes;
  std::string pointer;  // of the first diagnostic
};

auto bad_lines() -> std::vector<bad_line> {
  return {
      {"{", {"bad_json"}, ""},
      {"nonsense", {"bad_json"}, ""},
      {R"({"hash":"a","fields":{}} {"hash":"b","fields":{}})", {"bad_json"}, ""},
      {R"({"hash":"a","fields":{},})", {"bad_json"}, ""},
      {R"({"hash":"a" "fields":{}})", {"bad_json"}, ""},
      {"\xef\xbb\xbf{}", {"bad_json"}, ""},
      {R"({"list":"a","values":[1e400]})", {"bad_number"}, ""},
      {R"({"list":"a","values":[-1e400]})", {"bad_number"}, ""},
      {R"({"list":"a","values":[01]})", {"bad_number"}, ""},
      {R"({"list":"a","values":[18446744073709551616]})", {"wrong_type"}, "/values/0"},
      {R"({"list":"a","values":[-9223372036854775809]})", {"bad_number"}, ""},
      {"{\"hash\":\"\xff\",\"fields\":{}}", {"invalid_utf8"}, ""},
      {"{\"hash\":\"\xed\xa0\x80\",\"fields\":{}}", {"invalid_utf8"}, ""},
      {R"({"hash":"\ud800","fields":{}})", {"bad_string"}, ""},
      {R"({"hash":"\q","fields":{}})", {"bad_string"}, ""},
      {"{\"hash\":\"a\tb\",\"fields\":{}}", {"bad_string"}, ""},
      {R"({"hash":"a)", {"bad_string"}, ""},
      {std::string(300'000, '['), {"bad_json"}, ""},
      {std::string(300'000, '[') + std::string(300'000, ']'), {"too_deep"}, ""},
      {R"({"list":"a","values":)" + std::string(2'000, '[') + std::string(2'000, ']') + "}", {"too_deep"}, ""},
      {"[]", {"wrong_type"}, ""},
      {"null", {"wrong_type"}, ""},
      {"12", {"wrong_type"}, ""},
      {R"("text")", {"wrong_type"}, ""},
      {"{}", {"missing_member"}, ""},
      {R"({"values":[1]})", {"missing_member"}, ""},
      {R"({"hash":"a"})", {"missing_member"}, ""},
      {R"({"list":"a"})", {"missing_member"}, ""},
      {R"({"hash":"a","values":[]})", {"missing_member", "unknown_member"}, ""},
      {R"({"list":"a","values":[],"fields":{}})", {"unknown_member"}, "/fields"},
      {R"({"hash":"a","list":"a","fields":{},"values":[]})", {"ambiguous_record"}, ""},
      {R"({"hash":"a","feilds":{},"fields":{}})", {"unknown_member"}, "/feilds"},
      {R"({"hash":"a","fields":{},"a/b~":1})", {"unknown_member"}, "/a~1b~0"},
      {R"({"hash":"a","fields":{},"hash":"b"})", {"duplicate_member"}, "/hash"},
      {R"({"list":"a","values":[1],"values":[2]})", {"duplicate_member"}, "/values"},
      {R"({"hash":1,"fields":{}})", {"wrong_type"}, "/hash"},
      {R"({"list":null,"values":[]})", {"wrong_type"}, "/list"},
      {R"({"hash":"a","fields":[]})", {"wrong_type"}, "/fields"},
      {R"({"list":"a","values":{}})", {"wrong_type"}, "/values"},
      {R"({"hash":"a","fields":{"n":1}})", {"wrong_type"}, "/fields/n"},
      {R"({"hash":"a","fields":{"n":null,"m":[]}})", {"wrong_type", "empty_vector"}, "/fields/n"},
      {R"({"hash":"a","fields":{"v":["1"]}})", {"wrong_type"}, "/fields/v/0"},
      {R"({"hash":"a","fields":{"v":[1,null,true]}})", {"wrong_type", "wrong_type"}, "/fields/v/1"},
      {R"({"hash":"a","fields":{"v":[1,[2]]}})", {"wrong_type"}, "/fields/v/1"},
      {R"({"hash":"a","fields":{"v":[1,-4e38]}})", {"out_of_range"}, "/fields/v/1"},
      {R"({"hash":"a","fields":{"n":"1","n":"2"}})", {"duplicate_field"}, "/fields/n"},
      {R"({"hash":"a","fields":{"n":"1","n":"2","n":"3"}})", {"duplicate_field", "duplicate_field"}, "/fields/n"},
      {R"({"list":"a","values":[1,2.5]})", {"wrong_type"}, "/values/1"},
      {R"({"list":"a","values":[1.0]})", {"wrong_type"}, "/values/0"},
      {R"({"list":"a","values":[true,null,{},[]]})",
       {"wrong_type", "wrong_type", "wrong_type", "wrong_type"},
       "/values/0"},
      {R"({"list":"a","values":[0,9223372036854775808]})", {"id_out_of_range"}, "/values/1"},
      {R"({"hash":"","fields":{}})", {"empty_key"}, "/hash"},
      {R"({"hash":"a","fields":{"":"v","n":"v"}})", {"empty_field"}, "/fields/"},
      {R"({"list":"","values":[]})", {"empty_key"}, "/list"},
      {R"({"list":")" + std::string(512, 'k') + R"(","values":[]})", {"key_too_long"}, "/list"},
      {R"({"list":"","values":[1.5],"x":0})", {"unknown_member", "empty_key", "wrong_type"}, "/x"},
  };
}

/// The same of lines that delete.
auto bad_deletions() -> std::vector<bad_line> {
  return {
      {R"({"delete":7})", {"wrong_type"}, "/delete"},
      {R"({"delete":""})", {"empty_key"}, "/delete"},
      {R"({"delete":")" + std::string(512, 'k') + R"("})", {"key_too_long"}, "/delete"},
      {R"({"delete":"a","fields":{"n":"1"}})", {"wrong_type"}, "/fields"},
      {R"({"delete":"a","fields":[]})", {"no_fields"}, "/fields"},
      {R"({"delete":"a","fields":["n",1]})", {"wrong_type"}, "/fields/1"},
      {R"({"delete":"a","fields":["n",""]})", {"empty_field"}, "/fields/1"},
      {R"({"delete":"a","fields":["n","m","n"]})", {"duplicate_field"}, "/fields"},
      {R"({"delete":"a","values":[1]})", {"unknown_member"}, "/values"},
      {R"({"delete":"a","delete":"b"})", {"duplicate_member"}, "/delete"},
      {R"({"delete":"a","hash":"a","fields":{}})", {"ambiguous_record"}, ""},
      {R"({"delet":"a"})", {"unknown_member", "missing_member"}, "/delet"},
  };
}

/// The same of sets, sorted sets and strings.
auto bad_sets() -> std::vector<bad_line> {
  return {
      {R"({"set":"a"})", {"missing_member"}, ""},
      {R"({"members":["a"]})", {"missing_member"}, ""},
      {R"({"set":"a","members":{}})", {"wrong_type"}, "/members"},
      {R"({"set":"a","members":[1,2.5,null]})", {"wrong_type", "wrong_type"}, "/members/1"},
      {R"({"set":"a","members":[1,"2","1"]})", {"duplicate_value"}, "/members"},
      {R"({"set":"a","members":[9223372036854775808]})", {"id_out_of_range"}, "/members/0"},
      {R"({"set":"a","values":[1]})", {"missing_member", "unknown_member"}, ""},
      {R"({"set":"","members":[]})", {"empty_key"}, "/set"},
      {R"({"set":"a","sorted_set":"a","members":[]})", {"ambiguous_record"}, ""},
      {R"({"sorted_set":"a"})", {"missing_member"}, ""},
      {R"({"sorted_set":"a","members":[1]})", {"missing_member", "unknown_member"}, ""},
      {R"({"sorted_set":"a","scores":[]})", {"wrong_type"}, "/scores"},
      {R"({"sorted_set":"a","scores":{"1":"2","3":null}})", {"wrong_type", "wrong_type"}, "/scores/1"},
      {R"({"sorted_set":"a","scores":{"1":2,"1":2}})", {"duplicate_value"}, "/scores/1"},
      {R"({"sorted_set":"a","scores":{"1":1e400}})", {"bad_number"}, ""},
      {R"({"sorted_set":")" + std::string(512, 'k') + R"(","scores":{}})", {"key_too_long"}, "/sorted_set"},
      {R"({"string":"a"})", {"missing_member"}, ""},
      {R"({"string":"a","values":["b"]})", {"missing_member", "unknown_member"}, ""},
      {R"({"string":"a","value":1})", {"wrong_type"}, "/value"},
      {R"({"string":"a","value":null})", {"wrong_type"}, "/value"},
      {R"({"string":"a","value":["b"]})", {"wrong_type"}, "/value"},
      {R"({"string":"a","value":"b","value":"c"})", {"duplicate_member"}, "/value"},
      {R"({"string":"","value":""})", {"empty_key"}, "/string"},
      {R"({"string":7,"value":""})", {"wrong_type"}, "/string"},
      {R"({"string":"a","set":"a","value":"","members":[]})", {"ambiguous_record"}, ""},
  };
}

}  // namespace

TEST_CASE("every way to be wrong has its code, its pointer and the number of the line") {
  std::vector<bad_line> all = bad_lines();
  for (const bad_line& each : bad_sets()) all.push_back(each);
  for (const bad_line& each : bad_deletions()) all.push_back(each);
  for (const bad_line& bad : all) {
    CAPTURE(bad.text.substr(0, 80));
    const auto errors = errors_of(bad.text);
    std::vector<std::string> codes;
    for (const auto& item : errors) {
      codes.push_back(item.code);
      CHECK(item.message.starts_with("line 17: "));
    }
    CAPTURE(codes.front());
    CHECK((codes == bad.codes));
    CHECK(errors.front().pointer == bad.pointer);
  }
}

TEST_CASE("a name that is nearly right gets a hint") {
  CHECK(errors_of(R"({"hash":"a","feilds":{},"fields":{}})").front().hint == "did you mean `fields`?");
  CHECK(errors_of(R"({"hash":"a","fields":{"n":1}})").front().hint == "write numbers as strings: \"1.5\"");
}

TEST_CASE("a diagnostic names the record by its key, wherever the line has it") {
  for (const char* line : {R"({"fields":{"n":1},"hash":"user:1"})", R"({"hash":"user:1","feilds":{}})",
                           R"({"list":"user:1","values":[1.5]})", R"({"string":"user:1","value":1})"})
    CHECK(errors_of(line).front().message.starts_with("line 17: `user:1`: "));
  CHECK(errors_of(R"({"hash":1,"fields":{}})").front().message == "line 17: expected a string, got an integer");
}

TEST_CASE("bytes that are not UTF-8 are located, columns counted in bytes from 1") {
  CHECK(errors_of("{\"hash\":\"é\xff\",\"fields\":{}}").front().message ==
        "line 17: the line is not valid UTF-8 from column 12 on");
}

TEST_CASE("diagnostics about one line end after the sixteenth") {
  std::string text = R"({"list":"a","values":[null)";
  for (int i = 0; i < 100; ++i) text += ",null";
  CHECK(errors_of(text + "]}").size() == record_parser::max_diagnostics);
}

TEST_CASE("a line that is too long is said to be so") {
  record_parser parser;
  const auto parsed = parser.parse({{}, 3, true}, 0);
  REQUIRE_FALSE(parsed.has_value());
  CHECK(parsed.error().front().code == "line_too_long");
  CHECK(parsed.error().front().message == "line 3: the line is longer than 16 MiB");
}

TEST_CASE("a record that a dump would write as too long a line is refused") {
  constexpr std::size_t max_count = line_reader::max_bytes;
  const auto hash_of = [](std::size_t dels, std::size_t letters) {
    return R"({"hash":"user:1","fields":{"f":")" + std::string(dels, '\x7f') + std::string(letters, 'x') + "\"}}";
  };
  const std::size_t frame = hash_of(0, 0).size();
  const std::size_t dels = (max_count - frame) / 6;  // each becomes \u007f
  const std::size_t letters = (max_count - frame) % 6;
  record_parser parser;
  const padded longest(hash_of(dels, letters));
  CHECK(parser.parse(longest.line, 0).has_value());
  const auto errors = errors_of(hash_of(dels, letters + 1));
  REQUIRE(errors.size() == 1);
  CHECK(errors.front().code == "record_too_long");
  CHECK(errors.front().pointer == "/hash");
  CHECK(errors.front().message ==
        "line 17: `user:1`: `rankd dump` would write the record as a line of 16777217 bytes; at most 16777216 are "
        "allowed");

  // Integers beside text get quotes.
  std::string list = R"({"list":"follow:1","values":["x")";
  while (list.size() < max_count - 10) list += ",1";
  CHECK(errors_of(list + "]}").front().pointer == "/list");
  std::string plain = R"({"list":"follow:1","values":[1)";
  while (plain.size() < max_count - 10) plain += ",1";
  const padded ids(plain + "]}");
  CHECK(parser.parse(ids.line, 0).has_value());
}

TEST_CASE("blank lines mean nothing") {
  record_parser parser;
  for (const char* blank : {"", " ", "\t\r"}) {
    const padded line(blank);
    const auto parsed = parser.parse(line.line, 0);
    REQUIRE(parsed.has_value());
    CHECK_FALSE(parsed->has_value());
  }
}

TEST_CASE("a hash is read whatever the order of its members and fields") {
  record_parser parser;
  const padded line(R"({"fields":{"title":"Tö\u0000ne \ud83c\udfb5","country":"US"}, "hash":"user:1"})");
  const auto parsed = parser.parse(line.line, 4);
  REQUIRE(parsed.has_value());
  REQUIRE(parsed->has_value());
  CHECK((*parsed)->key == "user:1");
  const auto record = record_view::parse((*parsed)->bytes);
  REQUIRE(record.has_value());
  CHECK(record->origin() == record_origin{4, 17});
  CHECK(record->field("country") == "US");
  CHECK(record->field("title") == std::string_view("Tö\0ne \xf0\x9f\x8e\xb5", 11));
}

TEST_CASE("an array of numbers is a field with the bytes of a vector") {
  record_parser parser;
  const padded line(R"({"hash":"item:7","fields":{"v":[1,-0.5],"t":"x"}})");
  const auto parsed = parser.parse(line.line, 0);
  REQUIRE(parsed.has_value());
  const auto record = record_view::parse((*parsed)->bytes);
  CHECK(record->field("v") == std::string_view("\0\0\x80\x3f\0\0\0\xbf", 8));
  CHECK(record->field("t") == "x");
  std::string long_one = R"({"hash":"a","fields":{"v":[0)";
  for (int more = 0; more < 4096; ++more) long_one += ",0";
  CHECK(errors_of(long_one + "]}}").front().code == "too_many_items");
}

TEST_CASE("a vector has the length that the key of its field declares") {
  record_parser parser({{"v", 2}});
  const padded right(R"({"hash":"item:7","fields":{"v":[1,-0.5],"other":[1]}})");
  CHECK(parser.parse(right.line, 0).has_value());
  const padded wrong(R"({"hash":"item:7","fields":{"v":[1,2,3]}})");
  const auto parsed = parser.parse(wrong.line, 0);
  REQUIRE_FALSE(parsed.has_value());
  CHECK(parsed.error().front().code == "wrong_length");
  CHECK(parsed.error().front().pointer == "/fields/v");
  CHECK(parsed.error().front().message ==
        "line 17: `item:7`: the vector has 3 numbers, but the key `v` has 2 dimensions");
}

TEST_CASE("a list of integers is packed, a list with text keeps text") {
  record_parser parser;
  const padded ids(R"({"list":"follow:1","values":[3,-2,9223372036854775807,-9223372036854775808,-0]})");
  auto parsed = parser.parse(ids.line, 0);
  REQUIRE((parsed.has_value() && parsed->has_value()));
  auto record = record_view::parse((*parsed)->bytes);
  REQUIRE((record.has_value() && record->kind() == record_kind::id_list));
  CHECK(record->id_at(2) == 9223372036854775807);
  CHECK(record->id_at(4) == 0);

  const padded mixed(R"({"list":"follow:2","values":[3,"007","x",-4,"5"]})");
  parsed = parser.parse(mixed.line, 0);
  REQUIRE((parsed.has_value() && parsed->has_value()));
  record = record_view::parse((*parsed)->bytes);
  REQUIRE((record.has_value() && record->kind() == record_kind::text_list));
  const std::vector<std::string> expected = {"3", "007", "x", "-4", "5"};
  REQUIRE(record->count() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(record->text_at(i) == expected[i]);
}

TEST_CASE("a key of the greatest length is taken") {
  record_parser parser;
  const padded line(R"({"list":")" + std::string(511, 'k') + R"(","values":[]})");
  CHECK(parser.parse(line.line, 0).has_value());
}

TEST_CASE("a bad line leaves nothing behind for the next") {
  record_parser parser;
  const padded bad(R"({"list":"a","values":["x",1.5]})");
  CHECK_FALSE(parser.parse(bad.line, 0).has_value());
  const padded good(R"({"list":"a","values":[1]})");
  const auto parsed = parser.parse(good.line, 0);
  REQUIRE((parsed.has_value() && parsed->has_value()));
  CHECK(record_view::parse((*parsed)->bytes)->kind() == record_kind::id_list);
}

TEST_CASE("a line deletes a key, or named fields, which come sorted") {
  record_parser parser;
  const padded key(R"({"delete":"item:7"})");
  const auto whole = parser.parse(key.line, 3).value().value();
  CHECK(whole.deletes());
  CHECK(whole.key == "item:7");
  CHECK(whole.fields.empty());
  CHECK(whole.origin == record_origin{3, 17});
  const padded fields(R"({"fields":["b","a"],"delete":"item:7"})");
  const auto some = parser.parse(fields.line, 0).value().value();
  CHECK(some.deletes());
  CHECK(std::vector<std::string_view>(some.fields.begin(), some.fields.end()) ==
        std::vector<std::string_view>{"a", "b"});
  const padded record(R"({"hash":"item:7","fields":{}})");
  CHECK_FALSE(parser.parse(record.line, 0).value().value().deletes());
}

TEST_CASE("the table of wrong lines in the docs has the code, the pointer and the sentence of each") {
  std::istringstream page(read_text_file("docs/records.md").value());
  int rows = 0;
  for (std::string row; std::getline(page, row);) {
    if (!row.starts_with("| `{")) continue;
    std::vector<std::string> cells;
    for (std::size_t begin = 2; begin < row.size();) {
      const std::size_t end = row.find(" |", begin);
      cells.push_back(row.substr(begin, end - begin));
      begin = end + 3;
    }
    REQUIRE_MESSAGE(cells.size() == 4, row);
    const auto plain = [](const std::string& cell) { return cell.size() < 2 ? "" : cell.substr(1, cell.size() - 2); };
    const braid::diagnostics problems = errors_of(plain(cells[0]));
    CHECK_MESSAGE(problems.front().code == plain(cells[1]), row);
    CHECK_MESSAGE(problems.front().pointer == plain(cells[2]), row);
    CHECK_MESSAGE(problems.front().message == "line 17: " + cells[3], row);
    ++rows;
  }
  CHECK(rows >= 12);
}
