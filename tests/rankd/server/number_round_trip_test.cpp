// tests/rankd/server/number_round_trip_test.cpp: every double comes back as it was, from each writer to each reader.
#include <rankd/engine/requests/request.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/server/events/event.hpp>
#include <rankd/store/dump.hpp>
#include <rankd/store/line_reader.hpp>
#include <rankd/store/record.hpp>
#include <rankd/store/record_parser.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <braid/base/random.hpp>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using namespace std::chrono_literals;
using braid::testing::scratch_folder;

namespace {

auto declared() -> const registries& { return reference_project::get().declared; }

/// Powers and their neighbours up to the ends, whole numbers around 2^53, 2^63, 2^64 and 1e21, and random bits.
auto numbers() -> std::vector<double> {
  std::vector<double> out{0.0, 5e-324, 0x1p-1022, std::numeric_limits<double>::max(), 0.1, 1.0 / 3, 123456.789};
  const auto add_around = [&out](double value) {
    for (const double each : {value, std::nextafter(value, 0.0), std::nextafter(value, 1e308)}) out.push_back(each);
  };
  for (int power = 40; power <= 80; ++power) add_around(std::ldexp(1.0, power));
  for (int power = -20; power <= 30; ++power) add_around(std::pow(10.0, power));
  add_around(2.9514790517935283e+20);
  braid::random_source random(5);
  for (int round = 0; round < 2'000; ++round)
    out.push_back(std::floor(std::ldexp(static_cast<double>(random()), static_cast<int>(random.below(14)))));
  for (int round = 0; round < 2'000; ++round)
    if (const auto value = std::bit_cast<double>(random()); std::isfinite(value)) out.push_back(std::abs(value));
  const std::size_t positive = out.size();
  for (std::size_t at = 0; at < positive; ++at) out.push_back(-out[at]);
  return out;
}

auto text_of(double value) -> std::string {
  std::string out;
  append_json_number(out, value);
  return out;
}

auto bits_of(std::optional<double> value) -> std::string {
  return value ? std::to_string(std::bit_cast<std::uint64_t>(*value)) : "nothing";
}

auto from_document(const braid::checked<nlohmann::json>& document) -> std::optional<double> {
  if (!document) return std::nullopt;
  const auto read = scalar_from_json((*document)[0], value_type::floating);
  if (!read) return std::nullopt;
  return std::get<double>(*read);
}

auto from_candidate(const std::string& number) -> std::optional<double> {
  const auto request =
      parse_request(R"({"user_id":1,"candidates":[{"id":7,"final_score":)" + number + "}]}", declared());
  if (!request) return std::nullopt;
  return (*(*request).candidates->rows.find(declared().find_key("final_score")->key_id)->floats())[0];
}

auto from_param(const std::string& number) -> std::optional<double> {
  const auto document = parse_json("{\"weight\":" + number + "}", "t");
  if (!document) return std::nullopt;
  braid::diagnostics problems;
  object_reader in(*document, "", problems);
  const auto read = in.typed("weight", presence::required, value_type::floating);
  return read ? std::optional(std::get<double>(*read)) : std::nullopt;
}

/// A score of a sorted set, from the line of a dump, and from the line that a dump makes of what was read.
auto from_record(const std::string& number) -> std::optional<double> {
  record_parser parser;
  std::string line = R"({"sorted_set":"z","scores":{"1":)" + number + "}}";
  std::optional<double> found;
  for (int round = 0; round < 2; ++round) {
    const std::size_t size = line.size();
    line.append(line_reader::padding, ' ');
    const auto made = parser.parse({.text = std::string_view(line).substr(0, size), .number = 1}, 0);
    if (!made || !*made) return std::nullopt;
    const auto view = record_view::parse((*made)->bytes);
    if (!view) return std::nullopt;
    if (found && *found != view->score_at(0)) return std::nullopt;
    found = view->score_at(0);
    std::string again;
    append_record(again, "z", *view);
    line = again.substr(0, again.size() - 1);
  }
  return found;
}

/// A field of an event, from the body of a call, and from the line of the log.
auto from_event(const std::string& number, const event_rules& rules) -> std::optional<double> {
  const auto read = parse_events(R"({"events":[{"event_id":"e","type":"purchase","fields":{"price":)" + number + "}}]}",
                                 rules, declared(), 3, 5s);
  if (!read) return std::nullopt;
  const auto logged = parse_event_line(event_line(read->front(), 6s), rules, declared());
  if (!logged || logged->what.fields.size() != 1) return std::nullopt;
  const auto* value = std::get_if<double>(&logged->what.fields.front().second);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

auto list_lines(const std::filesystem::path& file) -> std::vector<std::string> {
  std::ifstream in(file);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// Runs a program of another language over a file of numbers. It writes, for each, the number as it writes it itself,
/// a space, and the bits that it read.
auto run_over(const std::string& command, const std::vector<double>& all, const scratch_folder& folder)
    -> std::vector<std::string> {
  std::string text;
  for (const double each : all) text += text_of(each) + "\n";
  const std::string numbers = folder.write("numbers", text).string();
  const std::string out = (folder.path() / "out").string();
  REQUIRE(std::system((command + " < " + numbers + " > " + out).c_str()) == 0);
  return list_lines(out);
}

void check_other_language(const std::string& command) {
  const scratch_folder folder;
  const auto all = numbers();
  const auto lines = run_over(command, all, folder);
  REQUIRE(lines.size() == all.size());
  for (std::size_t at = 0; at < all.size(); ++at) {
    CAPTURE(text_of(all[at]));
    const std::size_t space = lines[at].find(' ');
    CHECK(lines[at].substr(space + 1) == bits_of(all[at]));
    const std::string written = lines[at].substr(0, space);
    // JavaScript writes -0 as 0, and scores of sorted sets have no -0.
    const double expected = written == "0" ? 0.0 : all[at];
    CHECK(bits_of(from_document(parse_json("[" + written + "]", "t"))) == bits_of(expected));
    CHECK(bits_of(from_record(written)) == bits_of(expected + 0.0));
  }
}

}  // namespace

TEST_CASE("every double comes back from each reader as it was written") {
  const scratch_folder folder;
  folder.write(counters_file, "[[event]]\nname = \"purchase\"\nfields = { price = \"float\" }\n");
  const auto rules = event_rules::load(folder.path(), declared());
  REQUIRE(rules);
  for (const double value : numbers()) {
    const std::string text = text_of(value);
    CAPTURE(text);
    const std::string bits = bits_of(value);
    CHECK(bits_of(std::strtod(text.c_str(), nullptr)) == bits);
    CHECK(bits_of(nlohmann::json::parse(text).get<double>()) == bits);
    CHECK(bits_of(from_document(parse_json("[" + text + "]", "t"))) == bits);
    CHECK(bits_of(from_document(parse_json_with_nan("[" + text + "]", "t"))) == bits);
    CHECK(bits_of(from_document(parse_foreign_json("[" + text + "]", "t"))) == bits);
    CHECK(bits_of(from_candidate(text)) == bits);
    CHECK(bits_of(from_param(text)) == bits);
    CHECK(bits_of(from_record(text)) == bits_of(value + 0.0));
    CHECK(bits_of(from_event(text, *rules)) == bits);
  }
}

TEST_CASE("Python reads what is written, and what it writes is read") {
  check_other_language(
      "python3 -c 'import json,struct,sys\nfor line in sys.stdin:\n v=json.loads(line)\n "
      "print(json.dumps(float(v)), struct.unpack(\"<Q\",struct.pack(\"<d\",v))[0])'");
}

TEST_CASE("JavaScript reads what is written, and what it writes is read") {
  check_other_language(
      "node -e 'const view=new DataView(new ArrayBuffer(8));"
      "const lines=require(\"fs\").readFileSync(0,\"utf8\").split(\"\\n\").slice(0,-1);"
      "for(const line of lines){const v=JSON.parse(line);view.setFloat64(0,v);"
      "console.log(JSON.stringify(v)+\" \"+view.getBigUint64(0))}'");
}

TEST_CASE("NaN counts as null in a request and in events; infinite numbers are refused") {
  const auto request =
      parse_request(R"({"user_id":1,"candidates":[{"id":7,"country":"NaN"},{"id":8,"country":NaN}]})", declared());
  REQUIRE(request);
  const auto country = request->candidates->rows.find(declared().find_key("country")->key_id);
  REQUIRE(country);
  CHECK_FALSE(country->is_null(0));
  CHECK(country->is_null(1));
  for (const std::string number : {"Infinity", "-Infinity", "1e400"}) {
    CAPTURE(number);
    CHECK_FALSE(from_candidate(number));
  }
  CHECK_FALSE(parse_request(R"({"user_id":1,"candidates":[{"id":NaN}]})", declared()));
  CHECK_FALSE(parse_request(R"({"user_id":18446744073709551616})", declared()));
  const auto events =
      parse_events(R"({"events":[{"event_id":"e","type":"click","fields":{"price":NaN}}]})", {}, declared(), 3, 5s);
  REQUIRE(events);
  CHECK(is_null(events->front().fields.front().second));
}
