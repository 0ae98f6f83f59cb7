// tests/fuzz/record_fuzz.cpp: any bytes as a record of the store, and any lines as data that become records.
#include <tests/fuzz/diagnostics.hpp>
#include <tests/fuzz/target.hpp>

#include <rankd/store/record.hpp>
#include <rankd/store/record_parser.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 25> words{"{\"delete\":\"k\",\"fields\":[@]}",
                                                 "\"delete\":\"user:1\"",
                                                 "\"hash\":\"user:1\"",
                                                 "\"fields\":{\"country\":@}",
                                                 "\"list\":\"follow:1\"",
                                                 "\"values\":[@]",
                                                 "{\"hash\":\"k\",\"fields\":{}}",
                                                 "{\"list\":\"k\",\"values\":[]}",
                                                 "\"country\":\"US\"",
                                                 "\"a\":\"b\"",
                                                 "1,2,3",
                                                 "\"set\":\"bought:1\"",
                                                 "\"members\":[@]",
                                                 "\"sorted_set\":\"near:1\"",
                                                 "\"scores\":{\"1\":@}",
                                                 "{\"set\":\"k\",\"members\":[1,\"b\"]}",
                                                 "{\"sorted_set\":\"k\",\"scores\":{\"2\":0.5}}",
                                                 "\"string\":\"price:1\"",
                                                 "\"value\":\"9.5\"",
                                                 "{\"string\":\"k\",\"value\":\"\"}",
                                                 "\"x17\"",
                                                 "-9223372036854775809",
                                                 "\"\\u2028\"",
                                                 "\"\\u0000\"",
                                                 "\n"};

/// Reads all of a record, so that the sanitizers see every byte that it touches.
auto touched(const record_view& record) -> std::size_t {
  std::size_t sum = 0;
  std::vector<std::int64_t> ids(record.kind() == record_kind::id_list ? record.count() : 0);
  if (record.kind() == record_kind::id_list) record.copy_ids(ids);
  for (std::size_t i = 0; i < record.count(); ++i) {
    if (record.kind() == record_kind::hash) {
      const hash_field field = record.field_at(i);
      sum += std::string(field.name).size() + std::string(field.value).size() + record.field(field.name).has_value();
    } else if (record.kind() == record_kind::id_list) {
      BRAID_EXPECTS(record.id_at(i) == ids[i], "ids are copied as they are read");
    } else {
      const std::string_view text = record.text_at(i);
      sum += std::string(text).size() + static_cast<std::size_t>(record.find_member(text).has_value());
      if (record.kind() == record_kind::sorted_set) sum += static_cast<std::size_t>(record.score_at(i) > 0);
    }
  }
  return sum;
}

void read_bytes(std::string_view input) {
  const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(input.data()),
                                     reinterpret_cast<const std::byte*>(input.data() + input.size()));
  const auto record = record_view::parse(bytes);
  if (record) BRAID_EXPECTS(touched(*record) <= 3 * bytes.size(), "a record lies within its bytes");
}

void expect_hash(const record_view& record, const json& fields) {
  BRAID_EXPECTS(record.kind() == record_kind::hash && record.count() == fields.size(), "every field is there");
  for (const auto& [name, value] : fields.items())
    BRAID_EXPECTS(record.field(name) == value.get<std::string>(), "a field has its value");
}

void expect_list(const record_view& record, const json& values) {
  const bool packed = std::ranges::all_of(values, &json::is_number_integer);
  BRAID_EXPECTS(record.kind() == (packed ? record_kind::id_list : record_kind::text_list), "integers are packed");
  BRAID_EXPECTS(record.count() == values.size(), "every element is there");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (packed)
      BRAID_EXPECTS(record.id_at(i) == values[i].get<std::int64_t>(), "an id has its value");
    else
      BRAID_EXPECTS(record.text_at(i) == (values[i].is_string() ? values[i].get<std::string>()
                                                                : std::to_string(values[i].get<std::int64_t>())),
                    "a text has its value");
  }
}

auto text_of(const json& element) -> std::string {
  return element.is_string() ? element.get<std::string>() : std::to_string(element.get<std::int64_t>());
}

void expect_set(const record_view& record, const json& members) {
  BRAID_EXPECTS(record.kind() == record_kind::set && record.count() == members.size(), "every member is there");
  for (const json& each : members) BRAID_EXPECTS(record.find_member(text_of(each)).has_value(), "a member is found");
  for (std::size_t i = 1; i < record.count(); ++i)
    BRAID_EXPECTS(record.text_at(i - 1) < record.text_at(i), "members are in order");
}

void expect_sorted_set(const record_view& record, const json& scores) {
  BRAID_EXPECTS(record.kind() == record_kind::sorted_set && record.count() == scores.size(), "every member is there");
  for (const auto& [member, score] : scores.items()) {
    const auto at = record.find_member(member);
    BRAID_EXPECTS(at && record.score_at(*at) == score.get<double>(), "a member has its score");
  }
  for (std::size_t i = 1; i < record.count(); ++i) {
    const double before = record.score_at(i - 1);
    BRAID_EXPECTS(
        before < record.score_at(i) || (before == record.score_at(i) && record.text_at(i - 1) < record.text_at(i)),
        "members are in order");
  }
}

void expect_deletion(const parsed_record& made, const json& document) {
  BRAID_EXPECTS(made.key == document.at("delete").get<std::string>(), "the key is kept");
  const auto fields = document.value("fields", std::vector<std::string>());
  BRAID_EXPECTS(made.fields.size() == fields.size(), "every field is there");
  for (const std::string& each : fields)
    BRAID_EXPECTS(std::ranges::binary_search(made.fields, each), "a field is found, because they are sorted");
}

/// What the line says, read by another parser, is what the record holds.
void expect_same(const parsed_record& made, std::string_view line) {
  const auto document = parse_json(line, "line");
  BRAID_EXPECTS(document.has_value(), "data is JSON");
  if (made.deletes()) return expect_deletion(made, *document);
  const auto record = record_view::parse(made.bytes);
  BRAID_EXPECTS(record.has_value(), "what is written can be read");
  const auto expect_key = [&](const char* head) {
    BRAID_EXPECTS(made.key == document->at(head).get<std::string>(), "the key is kept");
  };
  if (document->contains("hash")) {
    expect_key("hash");
    expect_hash(*record, document->at("fields"));
  } else if (document->contains("set")) {
    expect_key("set");
    expect_set(*record, document->at("members"));
  } else if (document->contains("string")) {
    expect_key("string");
    BRAID_EXPECTS(
        record->kind() == record_kind::string && record->text_at(0) == document->at("value").get<std::string>(),
        "the text is kept");
  } else if (document->contains("sorted_set")) {
    expect_key("sorted_set");
    expect_sorted_set(*record, document->at("scores"));
  } else {
    expect_key("list");
    expect_list(*record, document->at("values"));
  }
}

void read_line(record_parser& parser, std::string_view line, std::uint32_t number) {
  std::string padded(line);
  padded.append(line_reader::padding, ' ');
  const std::string_view text = std::string_view(padded).substr(0, line.size());
  const auto made = parser.parse({.text = text, .number = number}, 0);
  if (!made) {
    expect_sound(made.error());
    if (const auto document = parse_json(line, "line")) expect_locations(made.error(), *document);
  } else if (*made) {
    expect_same(**made, line);
  }
}

void run(std::string_view input) {
  read_bytes(input);
  static record_parser parser;
  for (std::uint32_t number = 1; !input.empty(); ++number) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    read_line(parser, input.substr(0, end), number);
    input.remove_prefix(std::min(end + 1, input.size()));
  }
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
