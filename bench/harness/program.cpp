// bench/harness/program.cpp: the command line and the output of a measuring program.
#include <bench/harness/program.hpp>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>

namespace bench {
namespace {

struct request {
  std::string name;       // of the case
  std::string contender;  // empty: all
  std::uint64_t warmups = 1;
  std::uint64_t rounds = 1;
  bool wants_list = false;
  std::map<std::string, std::string> given;
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "%s; try --help\n", why.c_str());
  std::exit(2);
}

void print_help(const char* program) {
  std::printf(
      "usage: %s --case NAME [--contender NAME] [OPTIONS] [--PARAMETER VALUE…]\n\n"
      "  --list                  which cases there are, and who solves them, as lines of JSON\n"
      "  --warmups N             runs that are not told (default 1)\n"
      "  --rounds-in-process N   runs that are told, each as a line of JSON (default 1)\n\n"
      "Parameters differ from case to case; bench/*/subject.toml names them. bench/README.md tells the rest.\n",
      program);
}

auto to_number(const std::string& name, const std::string& text) -> std::uint64_t {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ptr != end || read.ec != std::errc{}) refuse("--" + name + " needs a number");
  return value;
}

auto read_arguments(int count, char** arguments) -> request {
  request wanted;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--help") {
      print_help(arguments[0]);
      std::exit(0);
    }
    if (word == "--list") {
      wanted.wants_list = true;
      continue;
    }
    if (!word.starts_with("--") || i + 1 == count) refuse("what is " + word);
    wanted.given[word.substr(2)] = arguments[++i];
  }
  const auto take = [&wanted](const char* name, std::string otherwise) {
    const auto found = wanted.given.extract(name);
    return found.empty() ? otherwise : found.mapped();
  };
  wanted.name = take("case", "");
  wanted.contender = take("contender", "");
  wanted.warmups = to_number("warmups", take("warmups", "1"));
  wanted.rounds = to_number("rounds-in-process", take("rounds-in-process", "1"));
  return wanted;
}

auto quoted(std::string_view text) -> std::string {
  std::string all = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') all += '\\';
    if (static_cast<unsigned char>(each) >= ' ') all += each;
  }
  return all + '"';
}

auto as_text(kind of) -> const char* {
  constexpr const char* names[] = {"ours", "rival", "reference"};
  return names[static_cast<unsigned>(of)];
}

/// Of this process alone; what the system says to its parent is at least what the parent had itself.
auto peak_kib() -> std::uint64_t {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::uint64_t read = 0; word == "VmHWM:" && status >> read) return read;
  return 0;
}

constexpr const char* compiler =
#if defined(__clang__)
    "clang " __clang_version__;
#else
    "g++ " __VERSION__;
#endif

void print(std::string_view subject, const solution& what, std::uint64_t round, const parameters& given,
           const sample& measured) {
  std::string extra;
  for (const auto& [name, value] : measured.extra) {
    char number[40];
    std::snprintf(number, sizeof number, ":%.6g", value);
    extra += (extra.empty() ? "" : ",") + quoted(name) + number;
  }
  std::printf(
      "{\"subject\":%s,\"case\":%s,\"params\":{%s},\"contender\":%s,\"kind\":\"%s\",\"version\":%s,\"compiler\":%s,"
      "\"round\":%llu,\"items\":%.0f,\"wall_ns\":%.0f,\"cpu_ns\":%.0f,\"peak_kib\":%llu,\"extra\":{%s},\"check\":%s}\n",
      quoted(subject).c_str(), quoted(what.name).c_str(), given.used_as_json().c_str(), quoted(what.who.name).c_str(),
      as_text(what.who.kind), quoted(what.who.version).c_str(), quoted(compiler).c_str(),
      static_cast<unsigned long long>(round), measured.items, measured.wall_ns, measured.cpu_ns,
      static_cast<unsigned long long>(peak_kib()), extra.c_str(), measured.is_right ? "true" : "false");
}

auto run_solution(std::string_view subject, const solution& what, const request& wanted) -> bool {
  const parameters given(wanted.given);
  bool is_right = true;
  for (std::uint64_t i = 0; i < wanted.warmups; ++i) is_right = what.run(given).is_right && is_right;
  for (std::uint64_t i = 0; i < wanted.rounds; ++i) {
    const sample measured = what.run(given);
    is_right = measured.is_right && is_right;
    print(subject, what, i, given, measured);
  }
  if (!given.unused().empty()) refuse(what.name + " has no parameter " + given.unused());
  return is_right;
}

}  // namespace

auto parameters::number(const std::string& name, std::uint64_t otherwise) const -> std::uint64_t {
  const auto found = given_.find(name);
  const std::uint64_t value = found == given_.end() ? otherwise : to_number(name, found->second);
  used_[name] = std::to_string(value);
  return value;
}

auto parameters::word(const std::string& name, const std::string& otherwise) const -> std::string {
  const auto found = given_.find(name);
  const std::string value = found == given_.end() ? otherwise : found->second;
  used_[name] = quoted(value);
  return value;
}

auto parameters::used_as_json() const -> std::string {
  std::string all;
  for (const auto& [name, value] : used_) all += (all.empty() ? "" : ",") + quoted(name) + ":" + value;
  return all;
}

auto parameters::unused() const -> std::string {
  for (const auto& [name, value] : given_)
    if (!used_.contains(name)) return name;
  return {};
}

auto braid_contender(std::string name) -> contender {
  return {.name = std::move(name), .kind = kind::ours, .version = BRAID_VERSION};
}

auto reference(std::string name) -> contender {
  return {.name = std::move(name), .kind = kind::reference, .version = ""};
}

auto run_program(int count, char** arguments, std::string_view subject, const std::vector<solution>& solutions) -> int {
  const request wanted = read_arguments(count, arguments);
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what was measured is seen although the program is ended
  bool is_right = true;
  bool has_run = false;
  for (const solution& each : solutions) {
    if (wanted.wants_list) {
      std::printf("{\"subject\":%s,\"case\":%s,\"contender\":%s,\"kind\":\"%s\"}\n", quoted(subject).c_str(),
                  quoted(each.name).c_str(), quoted(each.who.name).c_str(), as_text(each.who.kind));
    } else if (each.name == wanted.name && (wanted.contender.empty() || each.who.name == wanted.contender)) {
      is_right = run_solution(subject, each, wanted) && is_right;
      has_run = true;
    }
  }
  if (!has_run && !wanted.wants_list) refuse("nobody solves " + wanted.name + " " + wanted.contender);
  return is_right ? 0 : 1;
}

}  // namespace bench
