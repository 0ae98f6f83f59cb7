// rankd/server/records/record_call.cpp: parses the body of a call line by line, and collects all errors.
#include <rankd/server/records/record_call.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/store/line_reader.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/record_parser.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace rankd {
namespace {

auto measure_change(const parsed_record& record) -> record_change {
  return {.key = std::string(record.key),
          .bytes = {record.bytes.begin(), record.bytes.end()},
          .fields = {record.fields.begin(), record.fields.end()},
          .line = record.origin.line};
}

}  // namespace

/// Copies the text once, because the parser needs readable bytes behind each line.
auto parse_record_call(std::string_view text, const vector_lengths& vectors)
    -> braid::checked<std::vector<record_change>> {
  std::string padded(without_mark(text));
  const std::size_t size = padded.size();
  padded.append(line_reader::padding, ' ');
  record_parser parser(vectors);
  std::vector<record_change> out;
  std::map<std::string, std::uint32_t, std::less<>> lines;  // by key
  braid::diagnostics problems;
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < size && problems.size() < max_load_diagnostics;) {
    const std::size_t end = std::min(padded.find('\n', begin), size);
    const bool is_long = end - begin > line_reader::max_bytes;
    const std::string_view line = is_long ? std::string_view() : std::string_view(padded).substr(begin, end - begin);
    begin = end + 1;
    auto parsed = parser.parse({.text = line, .number = ++number, .too_long = is_long}, 0);
    if (!parsed) {
      problems.append(std::move(parsed.error()));
      continue;
    }
    if (!*parsed) continue;
    const auto [known, is_new] = lines.emplace((*parsed)->key, number);
    if (is_new)
      out.push_back(measure_change(**parsed));
    else
      problems.add(line_diagnostic(number, "duplicate_key", "",
                                   "the key `" + known->first + "` is already in line " + std::to_string(known->second),
                                   "each key may occur only once in a call; combine the two lines"));
  }
  if (problems.size() >= max_load_diagnostics)
    problems.add(problem_at("too_many_diagnostics", {}, "the rest of the call was not read", {}));
  if (problems.empty() && out.empty())
    problems.add(problem_at("empty_body", {}, "the body has no line with a record",
                            R"(send lines such as {"hash":KEY,"fields":{…}} or {"delete":KEY})"));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return out;
}

}  // namespace rankd
