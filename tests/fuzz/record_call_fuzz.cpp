// tests/fuzz/record_call_fuzz.cpp: any bytes as the body of a call that changes records.
#include <tests/fuzz/diagnostics.hpp>
#include <tests/fuzz/target.hpp>

#include <rankd/server/records/record_call.hpp>
#include <rankd/store/line_reader.hpp>
#include <rankd/store/record.hpp>
#include <rankd/store/record_parser.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::array<std::string_view, 14> words{"{\"delete\":\"k\"}",
                                                 "{\"delete\":\"k\",\"fields\":[@]}",
                                                 "\"delete\":\"k\"",
                                                 "\"fields\":[\"a\",\"b\"]",
                                                 "\"fields\":{\"a\":\"1\"}",
                                                 "{\"hash\":\"k\",\"fields\":{}}",
                                                 "{\"list\":\"k\",\"values\":[1]}",
                                                 "{\"set\":\"k\",\"members\":[\"a\"]}",
                                                 "{\"sorted_set\":\"k\",\"scores\":{\"a\":1}}",
                                                 "{\"string\":\"k\",\"value\":\"\"}",
                                                 "\xef\xbb\xbf",
                                                 "\r\n",
                                                 "\n\n",
                                                 "\n"};

/// The lines of a body, as they are counted.
auto list_lines(std::string_view text) -> std::vector<std::string_view> {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// A change is what its line says when it is read alone.
void expect_same(const record_change& change, std::string_view line) {
  static record_parser parser;
  std::string padded(line);
  padded.append(line_reader::padding, ' ');
  const auto alone = parser.parse({.text = std::string_view(padded).substr(0, line.size()), .number = change.line}, 0);
  BRAID_EXPECTS(alone && *alone && (*alone)->key == change.key, "a line is right alone, too");
  BRAID_EXPECTS(std::ranges::equal((*alone)->bytes, change.bytes), "the record is the same");
  BRAID_EXPECTS(std::ranges::equal((*alone)->fields, change.fields), "the fields are the same");
  BRAID_EXPECTS(std::ranges::is_sorted(change.fields), "fields are sorted");
  BRAID_EXPECTS(change.bytes.empty() || record_view::parse(change.bytes), "a record can be read");
  BRAID_EXPECTS(change.bytes.empty() || change.fields.empty(), "a line sets or deletes");
}

void run(std::string_view input) {
  const auto changes = parse_record_call(input, {});
  if (!changes) return expect_sound(changes.error());
  const std::vector<std::string_view> lines = list_lines(input);
  std::set<std::string_view> keys;
  std::uint32_t before = 0;
  for (const record_change& each : *changes) {
    BRAID_EXPECTS(each.line > before && each.line <= lines.size(), "changes have the order of their lines");
    BRAID_EXPECTS(keys.insert(each.key).second, "a key occurs once");
    expect_same(each, lines[each.line - 1]);
    before = each.line;
  }
  BRAID_EXPECTS(!changes->empty(), "a call changes something");
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
