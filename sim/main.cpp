// sim/main.cpp: parses and runs the command line of braid-sim.
#include <sim/trace_file.hpp>
#include <sim/world_run.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>

#include <arpa/inet.h>

namespace {

using sim::order;

constexpr const char* help =
    R"(usage: braid-sim run|search [OPTION…] -- PROGRAM [ARGUMENT…]
       braid-sim run|search [OPTION…] WORLD.toml

Runs an unchanged program in virtual time, with an order of its threads that a seed decides.

A world has several machines, which are programs, a network between them, and events such as a crash of a machine.

The same seed of the same program gives the same run, so you can search for a failure that needs a rare order, and
repeat it.

Commands:

  run     runs one seed; if the program fails or no thread can continue, prints what each thread waits for and the last
          switches with their stacks
  search  runs seeds one after the other until one fails; prints the output of that run, and the command that repeats it

Options of run:

  --seed N   the seed; default: 1
  --twice    runs the seed twice, and prints the first switch in which both runs differ

Options of search:

  --seeds A..B  the seeds; default: 1..1000
  --jobs N      how many runs at the same time; default: 1
  --twice       runs each seed twice; a seed fails if its two runs differ

Options of both:

  --order uniform|pct  how the next thread is chosen: uniformly, or by random priorities that change at a few points
  --changes N          pct: the number of these points; default: 3
  --reach N            pct: they are among the first N switches; default: 10000
  --cpus N             the number of CPUs that the program sees; default: 4
  --every N            another thread may run at every Nth call on average; default: 1; 16 suits large programs
  --max-switches N     ends a run after N switches
  --stuck-after S      ends a run that computes for S seconds without a call that the simulator sees; default: 5
  --latency A..B       how long a packet travels, in microseconds; default: 10..200
  --bandwidth N        kilobytes per second from one machine of a world to another; default: no limit
  --splits N           splits up to N packets of TCP at any byte
  --delays N           delays up to N packets by up to 1 s; later datagrams overtake a delayed one
  --resets N           resets up to N connections while they carry data
  --refusals N         refuses up to N connections
  --losses N           loses up to N datagrams
  --partitions N       cuts the network before a port for up to 10 s, up to N times; half of the cuts stop one direction
  --fault-rate N       one of N packets has a fault of each kind, until its budget is used up; default: 20
  --calm-from S        no fault begins after S seconds of virtual time
  --name NAME=ADDRESS  a host name, and an address that belongs to the simulated machine; may be repeated
  --trace FILE         writes a trace of the run for Perfetto; in search, of the failing seed with the fewest faults
  --stacks on|off      stacks of the last switches; on in run and off in search, which is faster without them
  --version            the version
  --help               this text

Examples:

  braid-sim run --seed 7 -- ./my_test
  braid-sim search --seeds 1..10000 --jobs 4 -- ./my_test --only transfers
  braid-sim search --seeds 1..100 --resets 5 world.toml

Exit status: that of the program; 70 if the simulator ended it: deadlock, spin, refused call; 1 if a search found a
failure or two runs differ, or a program of a world failed; 2 for wrong usage, and for a program that cannot be
simulated.
)";

struct command_line {
  enum class kind { run, search, help, version } command = kind::help;
  sim::run_options options;
  sim::search_options wanted;
  std::string problem;
};

auto to_number(std::string_view text) -> std::optional<std::uint64_t> {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class reader {
 public:
  reader(std::vector<std::string> words, bool has_world) : words_(std::move(words)), has_world_(has_world) {}

  /// Returns the index of the first word that was not read. After an error, the wrong word is the word before this
  /// index.
  [[nodiscard]] auto position() const -> std::size_t { return position_; }

  auto read() -> command_line {
    if (words_.empty()) return refuse("a command is missing: expected `run` or `search`; see braid-sim --help");
    const std::string_view first = words_.front();
    if (first == "--help" || first == "-h") return std::move(line_);
    line_.command = command_line::kind::version;
    if (first == "--version") return std::move(line_);
    if (first != "run" && first != "search")
      return refuse("unknown command `" + std::string(first) + "`; expected `run` or `search`");
    line_.command = first == "run" ? command_line::kind::run : command_line::kind::search;
    line_.options.wanted.keeps_stacks = first == "run" ? 1 : 0;
    for (position_ = 1; position_ < words_.size() && line_.problem.empty() && words_[position_] != "--"; ++position_)
      read_option(words_[position_]);
    if (line_.command == command_line::kind::help || !line_.problem.empty()) return std::move(line_);
    line_.options.words.assign(words_.begin() + static_cast<std::ptrdiff_t>(std::min(position_ + 1, words_.size())),
                               words_.end());
    if (has_world_ && !line_.options.words.empty())
      return refuse("expected either a world or a program, got a world and the program `" +
                    line_.options.words.front() + "`");
    if (has_world_ && line_.wanted.jobs > 1)
      return refuse("--jobs cannot be used with a world, because `search` runs the seeds of a world one after another");
    if (line_.options.words.empty() && !has_world_)
      return refuse("no program is named; write it after `--`, as in braid-sim run -- ./my_test");
    return std::move(line_);
  }

 private:
  auto refuse(std::string problem) -> command_line {
    line_.problem = std::move(problem);
    return std::move(line_);
  }

  void read_option(const std::string& option) {
    auto& wanted = line_.options.wanted;
    const bool is_search = line_.command == command_line::kind::search;
    if (option == "--help" || option == "-h") {
      line_.command = command_line::kind::help;
    } else if (option == "--twice") {
      line_.wanted.is_twice = true;
    } else if (option == "--seed" && !is_search) {
      wanted.seed = number(option, 0, UINT64_MAX);
    } else if (option == "--seeds" && is_search) {
      read_seeds(value(option, "a range such as 1..1000"));
    } else if (option == "--jobs" && is_search) {
      line_.wanted.jobs = static_cast<unsigned>(number(option, 1, 1000));
    } else if (option == "--order") {
      read_order(value(option, "`uniform` or `pct`"));
    } else if (option == "--changes") {
      wanted.changes = static_cast<std::uint32_t>(number(option, 0, 64));
    } else if (option == "--reach") {
      wanted.reach = number(option, 1, 1'000'000'000'000);
    } else if (option == "--cpus") {
      wanted.cpus = static_cast<std::uint32_t>(number(option, 1, 1024));
    } else if (option == "--every") {
      wanted.every = number(option, 1, 1'000'000);
    } else if (option == "--max-switches") {
      wanted.max_switches = number(option, 1, UINT64_MAX);
    } else if (option == "--stuck-after") {
      line_.options.stuck_after = std::chrono::seconds(number(option, 1, 86'400));
    } else if (option == "--latency") {
      read_latency(value(option, "a range of microseconds such as 10..200"));
    } else if (option == "--bandwidth") {
      wanted.bandwidth = 1000 * number(option, 1, 1'000'000'000);
      if (!has_world_ && line_.problem.empty())
        line_.problem = "--bandwidth applies only to worlds; a single program has no links";
    } else if (const auto fault = fault_of(option)) {
      wanted.budgets[*fault] = static_cast<std::uint32_t>(number(option, 0, 1'000'000));
    } else if (option == "--fault-rate") {
      wanted.fault_rate = static_cast<std::uint32_t>(number(option, 1, 1'000'000));
    } else if (option == "--calm-from") {
      wanted.calm_from_ns = number(option, 1, 1'000'000) * 1'000'000'000;
    } else if (option == "--name") {
      read_name(value(option, "NAME=ADDRESS"));
    } else if (option == "--trace") {
      line_.options.trace = value(option, "the name of a file");
      if (line_.problem.empty() && line_.options.trace.empty())
        line_.problem = "--trace must be the name of a file, got ``";
    } else if (option == "--stacks") {
      read_stacks(value(option, "`on` or `off`"));
    } else {
      line_.problem = "unknown option `" + option + "`" + hint(option, is_search) + "; see braid-sim --help";
    }
  }

  static auto hint(std::string_view option, bool is_search) -> std::string {
    if (option == "--seed" && is_search) return "; `search` needs --seeds A..B";
    if (option == "--seeds" && !is_search) return "; `run` needs --seed N";
    return option.starts_with("-") ? "" : "; write `--` before the program";
  }

  auto value(const std::string& option, const char* expected) -> std::string {
    if (position_ + 1 < words_.size() && words_[position_ + 1] != "--") return words_[++position_];
    line_.problem = option + " needs a value: expected " + expected;
    return {};
  }

  auto number(const std::string& option, std::uint64_t min, std::uint64_t max) -> std::uint64_t {
    const std::string bounds = "an integer from " + std::to_string(min) + " to " + std::to_string(max);
    const std::string text = value(option, bounds.c_str());
    const auto found = to_number(text);
    if (line_.problem.empty() && (!found || *found < min || *found > max))
      line_.problem = option + " must be " + bounds + ", got `" + text + "`";
    return found.value_or(min);
  }

  void read_seeds(const std::string& text) {
    const std::size_t dots = text.find("..");
    const auto first = to_number(std::string_view(text).substr(0, dots));
    const auto last = dots == std::string::npos ? first : to_number(std::string_view(text).substr(dots + 2));
    if (line_.problem.empty() && (!first || !last || *last < *first))
      line_.problem = "--seeds must be a range of integers such as 1..1000, got `" + text + "`";
    line_.wanted.seeds = {first.value_or(1), last.value_or(1)};
  }

  void read_order(const std::string& text) {
    if (line_.problem.empty() && text != "uniform" && text != "pct")
      line_.problem = "--order must be `uniform` or `pct`, got `" + text + "`";
    line_.options.wanted.kind = text == "pct" ? order::pct : order::uniform;
  }

  /// Returns the index of the fault whose budget the option sets, or nothing for another option.
  static auto fault_of(std::string_view option) -> std::optional<std::size_t> {
    for (std::size_t at = 0; at < sim::fault_count; ++at)
      if (option.starts_with("--") && option.substr(2) == sim::fault_names[at]) return at;
    return std::nullopt;
  }

  void read_latency(const std::string& text) {
    constexpr std::uint64_t largest = 60'000'000;
    const std::size_t dots = text.find("..");
    const auto least = to_number(std::string_view(text).substr(0, dots));
    const auto most = dots == std::string::npos ? least : to_number(std::string_view(text).substr(dots + 2));
    if (line_.problem.empty() && (!least || !most || *most < *least || *most > largest))
      line_.problem = "--latency must be a range of microseconds up to 60000000, such as 10..200, got `" + text + "`";
    line_.options.wanted.min_latency_ns = 1000 * least.value_or(0);
    line_.options.wanted.max_latency_ns = 1000 * most.value_or(0);
  }

  void read_name(const std::string& text) {
    const std::size_t sign = text.find('=');
    const std::string address = sign == std::string::npos ? "" : text.substr(sign + 1);
    std::array<unsigned char, 16> ignored{};
    const bool is_address = ::inet_pton(AF_INET, address.c_str(), ignored.data()) == 1 ||
                            ::inet_pton(AF_INET6, address.c_str(), ignored.data()) == 1;
    if (line_.problem.empty() && (sign == 0 || !is_address))
      line_.problem = "--name must be NAME=ADDRESS such as api.example=10.0.0.5, got `" + text + "`";
    if (line_.problem.empty() && text.substr(0, sign) == "localhost")
      line_.problem = "--name must not set `localhost`, which is the loopback address; got `" + text + "`";
    auto& names = line_.options.wanted.names;
    const std::size_t used = std::strlen(names.data());
    if (line_.problem.empty() && used + text.size() + 2 > names.size())
      line_.problem = "all names of --name together must have less than " + std::to_string(names.size()) + " bytes";
    if (line_.problem.empty()) std::ranges::copy(text + "\n", names.begin() + static_cast<std::ptrdiff_t>(used));
  }

  void read_stacks(const std::string& text) {
    if (line_.problem.empty() && text != "on" && text != "off")
      line_.problem = "--stacks must be `on` or `off`, got `" + text + "`";
    line_.options.wanted.keeps_stacks = text == "on" ? 1 : 0;
  }

  std::vector<std::string> words_;
  bool has_world_;
  std::size_t position_ = 0;
  command_line line_;
};

auto wrong_usage(const std::string& problem) -> int {
  std::fprintf(stderr, "braid-sim: %s\n", problem.c_str());
  return 2;
}

/// Finds the first error in a world file's options for a command. The command is `run` or `search`.
auto check_options(const std::string& command, const std::vector<std::string>& options) -> sim::option_problem {
  std::vector<std::string> words = {command};
  words.insert(words.end(), options.begin(), options.end());
  for (std::size_t at = 0; at < options.size(); ++at)
    for (const char* each : {"--", "--help", "-h", "--version", "--jobs"})
      if (options[at] == each) return {at, "`" + options[at] + "` belongs to the command line, not to a world"};
  if (options.empty()) return {};
  reader checked(std::move(words), true);
  std::string problem = checked.read().problem;
  return {checked.position() - 2, std::move(problem)};  // without the command
}

/// Removes the name of a world file from the words. Inserts the options of the file in front of the options from the
/// command line.
auto take_world(std::vector<std::string>& words) -> std::optional<sim::world_plan> {
  const auto end = std::ranges::find(words, "--");
  const auto file = std::find_if(words.begin(), end, [](const std::string& each) { return each.ends_with(".toml"); });
  if (file == end || file == words.begin()) return std::nullopt;
  sim::world_plan plan;
  const std::string command = words.front() == "search" ? "search" : "run";
  const auto problems = sim::read_world(
      *file, plan, [&command](const std::vector<std::string>& options) { return check_options(command, options); });
  words.erase(file);
  if (problems.empty()) {
    words.insert(words.begin() + 1, plan.options.begin(), plan.options.end());
    words.insert(words.begin() + 1, plan.fault_options.begin(), plan.fault_options.end());
    return plan;
  }
  for (const sim::world_problem& each : problems)
    std::fprintf(stderr, "%s:%s %s\n", plan.file.c_str(),
                 each.line == 0 ? "" : (std::to_string(each.line) + ":").c_str(), each.sentence.c_str());
  std::exit(2);  // NOLINT(concurrency-mt-unsafe): there is one thread
}

auto run(int argc, char** argv) -> int {
  const auto given = std::span(argv, static_cast<std::size_t>(argc)).subspan(1);
  std::vector<std::string> words(given.begin(), given.end());
  const auto world = take_world(words);
  command_line line = reader(std::move(words), world.has_value()).read();
  if (!line.problem.empty()) return wrong_usage(line.problem);
  if (line.command == command_line::kind::help) return std::fputs(help, stdout) < 0 ? 1 : 0;
  if (line.command == command_line::kind::version) return std::printf("braid-sim %s\n", BRAID_VERSION) < 0 ? 1 : 0;
  if (!line.options.trace.empty())
    if (const std::string problem = sim::check_trace(line.options.trace); !problem.empty()) return wrong_usage(problem);
  if (world)
    return line.command == command_line::kind::search ? sim::search_world(*world, line.options, line.wanted)
                                                      : sim::run_world(*world, line.options, line.wanted.is_twice);
  if (const std::string problem = sim::find_program(line.options); !problem.empty()) return wrong_usage(problem);
  if (line.command == command_line::kind::search) return sim::search(std::move(line.options), line.wanted);
  return line.wanted.is_twice ? sim::run_twice(std::move(line.options)) : sim::run_once(std::move(line.options));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    return wrong_usage(error.what());
  }
}
