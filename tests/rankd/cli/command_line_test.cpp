// tests/rankd/cli/command_line_test.cpp: errors in a command line, and what they print.
#include <rankd/cli/detail/command_line.hpp>

#include <tests/rankd/cli/run_rankd.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using braid::testing::process_end;
using rankd::testing::has;
using rankd::testing::rankd_in;
using rankd::testing::words;

namespace {

auto rankd_here(words arguments) -> process_end { return rankd_in("/", std::move(arguments)); }

}  // namespace

TEST_CASE("what is wrong with a value or a word is said with the value or the word") {
  struct wrong {
    words line;
    std::string said;
  };
  const std::vector<wrong> table{
      {{"frobnicate", "x"}, "there is no command or option `frobnicate`"},
      {{"--hlp"}, "there is no command or option `--hlp`"},
      {{"init", "dmeo"}, "there is no command or option `dmeo`; did you mean `demo`?"},
      {{"explain", "p"}, "there is no command or option `explain`; `rankd rank` has an option --explain"},
      {{"frobnicate"}, "there is no command or option `frobnicate`; the commands of `rankd` are rank, batch, "},
      {{"init"}, "a command is missing; the commands of `init` are demo, "},
      {{}, "a command is missing; the commands of `rankd` are rank, batch, "},
      {{"rank", "--workers="}, "--workers: the value is missing; expected UINT:1 to 4096"},
      {{"rank", "--project"}, "--project: the value is missing; expected DIR"},
      {{"rank", "--workers", "1", "--workers", "2"}, "--workers: may have one value, got 2"},
      {{"rank", "--wrokers", "1"}, "there is no option `--wrokers`; did you mean `--workers`?"},
      {{"vectors", "build", "d", "--out", "o", "--lits=3"}, "there is no option `--lits`; did you mean `--lists`?"},
      {{"rank", "--frobnicate"}, "there is no option `--frobnicate`\n"},
      {{"rank", "1"}, "the argument `1` is not expected here"},
      {{"replay", "f", "--vectors", "/nodir"}, "--vectors: must be an existing folder, but `/nodir` does not exist"},
      {{"load", "--watch", "/nodir"}, "--watch: must be an existing folder, but `/nodir` does not exist"},
      {{"rank", "--workers", "010"}, "--workers: must be an integer from 1 to 4096, got `010`"},
      {{"rank", "--workers", "0x10"}, "--workers: must be an integer from 1 to 4096, got `0x10`"},
      {{"rank", "--workers", "4097"}, "--workers: must be an integer from 1 to 4096, got `4097`"},
      {{"rank", "--why", "7,9223372036854775808"}, "--why: must be an integer of 64 bits, got `9223372036854775808`"},
      {{"rank", "--why", "01"}, "--why: must be an integer of 64 bits, got `01`"},
      {{"bench", "--plan", "p", "--http", "http://h", "--rate", "nan"},
       "--rate: must be a number from 0.001 to 10000000"},
      {{"bench", "--plan", "p", "--http", "ftp://h"},
       "--http: must be http://HOST:PORT or https://HOST:PORT, got `ftp://h`"},
      {{"bench", "--plan", "p", "--http", "http://h/"}, "--http: must be http://HOST:PORT or https://HOST:PORT"},
      {{"serve", "--idle-timeout-ms", "0"}, "--idle-timeout-ms: must be an integer from 1 to 86400000, got `0`"},
      {{"load", "--store", "redis:localhost"}, "--store: `redis:localhost` is not a store that this build supports"}};
  for (const wrong& each : table) {
    CAPTURE(each.said);
    const process_end end = rankd_here(each.line);
    CHECK(end.status == 2);
    CHECK(end.err.starts_with("rankd: " + each.said));
  }
}

TEST_CASE("what the command line holds cannot steer the terminal that shows it") {
  const std::string steering = "a\x1b[2J\nb\xff\xe2\x80\xae";
  for (const words& line : {words{steering},
                            {"rank", "--" + steering},
                            {"rank", "--workers", steering},
                            {"load", "--store", steering + "://"},
                            {"batch", "--shard", steering}}) {
    CAPTURE(line.size());
    const process_end end = rankd_here(line);
    CHECK(end.status == 2);
    CHECK(end.err.starts_with("rankd: "));
    CHECK(std::count(end.err.begin(), end.err.end(), '\n') == 2);
    CHECK(end.err.find_first_of("\x1b\xff\x80") == std::string::npos);
  }
  CHECK(has(rankd_here({"rank", "--workers", steering}).err, "a\\x1b[2J\\nb\\xff\\u{202e}"));
}
