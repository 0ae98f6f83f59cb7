// tests/fuzz/event_fuzz.cpp: any bytes as the body of a call with events, and as a line of their log.
#include <tests/fuzz/diagnostics.hpp>
#include <tests/fuzz/target.hpp>

#include <rankd/server/events/event.hpp>
#include <rankd/server/events/event_log.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <array>
#include <chrono>
#include <string>
#include <string_view>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 16> words{"{\"events\":[@]}",
                                                 "\"event_id\":\"e1\"",
                                                 "\"type\":\"click\"",
                                                 "\"type\":\"purchase\"",
                                                 "\"time_ms\":1764214569000",
                                                 "\"user_id\":1",
                                                 "\"item_id\":\"17\"",
                                                 "\"request_id\":\"r\"",
                                                 "\"fields\":{@}",
                                                 "\"price\":9.5",
                                                 "{\"event_id\":\"a\",\"type\":\"impression\"}",
                                                 "9007199254740993",
                                                 "-1",
                                                 "\"\\u0000\"",
                                                 "\"crc32c\":\"00000000\"",
                                                 "null"};

/// What is written says what was read.
void expect_same(const event& what) {
  const std::string line = event_line(what, std::chrono::milliseconds(7));
  BRAID_EXPECTS(line.find('\n') == std::string::npos, "an event is one line");
  const auto document = parse_json(line, "line");
  BRAID_EXPECTS(document.has_value(), "what is written is JSON");
  BRAID_EXPECTS(document->at("event_id") == what.event_id && document->at("type") == what.type, "names are kept");
  BRAID_EXPECTS(document->at("time_ms") == what.time.count(), "the time is kept");
  BRAID_EXPECTS(document->value("fields", json::object()).size() == what.fields.size(), "every field is there");
}

void run(std::string_view input) {
  static const event_rules rules;
  constexpr std::size_t max_events = 50;
  const auto events = parse_events(input, rules, op_world(), max_events, std::chrono::milliseconds(5));
  if (!events) {
    expect_sound(events.error());
    if (const auto document = parse_json(input, "request")) expect_locations(events.error(), *document);
  } else {
    BRAID_EXPECTS(events->size() <= max_events, "one call has a bound");
    for (const event& each : *events) {
      expect_same(each);
      BRAID_EXPECTS(list_steps(each, rules, each.time).empty(), "nothing is counted");
    }
  }
  if (const auto line = checked_event_line(input)) BRAID_EXPECTS(line->size() < input.size(), "a line has a checksum");
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
