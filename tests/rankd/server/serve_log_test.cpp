// tests/rankd/server/serve_log_test.cpp: events and requests as lines of JSON.
#include <rankd/server/files/serve_log.hpp>

#include <rankd/registry/file.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;

TEST_CASE("a time is written in UTC with microseconds") {
  using namespace std::chrono;
  CHECK(utc_text(system_clock::time_point(microseconds(1))) == "1970-01-01T00:00:00.000001Z");
  CHECK(utc_text(sys_days(2026y / 2 / 28) + 23h + 59min + 59s + 999999us) == "2026-02-28T23:59:59.999999Z");
  CHECK(utc_text(system_clock::time_point(microseconds(-1))) == "1969-12-31T23:59:59.999999Z");
}

TEST_CASE("a log tells its level and those before it") {
  const braid::testing::scratch_folder folder;
  {
    const auto file = line_file::open(folder.path() / "log").value();
    const serve_log log(*file, log_level::warning);
    log.note(log_level::info, "unheard");
    log.note(log_level::warning, "heard", {{"name", "a\n\"b\" \xff"}, {"empty", ""}, {"count", std::int64_t{0}}});
    CHECK(log.is_logged(log_level::error));
    CHECK(!log.is_logged(log_level::debug));
    CHECK(!serve_log().is_logged(log_level::error));
    CHECK(!serve_log(*file, log_level::off).is_logged(log_level::off));
  }
  const std::string text = read_text_file(folder.path() / "log").value();
  CHECK(text.find('\n') == text.size() - 1);
  const json line = json::parse(text);
  CHECK(line.at("event") == "heard");
  CHECK(line.at("level") == "warning");
  CHECK(line.at("name") == "a\n\"b\" \u00ff");
  CHECK(!line.contains("empty"));
  CHECK(line.at("count").is_number_integer());
  CHECK(line.at("count") == 0);
}

TEST_CASE("levels have names") {
  CHECK(parse_log_level("off") == log_level::off);
  CHECK(parse_log_level("debug") == log_level::debug);
  CHECK(!parse_log_level("Info"));
  CHECK(!parse_log_level(""));
}
