// doctor/trace_command.cpp: braid-doctor trace FILE [--request ID] [--tracks] | --recover: shows critical paths, or
// completes a trace.
#include <doctor/escape.hpp>
#include <doctor/path_text.hpp>
#include <doctor/trace_file.hpp>
#include <doctor/trace_recovery.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

namespace braid::doctor {
namespace {

constexpr std::size_t max_requests = 10;

struct trace_options {
  std::string file;
  std::string request;
  bool has_request = false;
  bool adds_tracks = false;
  bool recovers = false;
};

auto wrong(const std::string& problem) -> int {
  std::fprintf(stderr, "braid-doctor: trace: %s; try --help\n", escaped(problem).c_str());
  return 2;
}

auto failed(const std::string& problem) -> int {
  std::fprintf(stderr, "braid-doctor: %s\n", escaped(problem).c_str());
  return 1;
}

auto read(std::span<const std::string> words, trace_options& options) -> std::optional<std::string> {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--tracks") {
      options.adds_tracks = true;
    } else if (word == "--recover") {
      options.recovers = true;
    } else if (word == "--request") {
      if (++at == words.size() || words[at].empty()) return "--request needs an id";
      options.request = words[at];
      options.has_request = true;
    } else if (word.starts_with("--")) {
      return "unknown option " + word;
    } else if (!options.file.empty()) {
      return "expected one file, got " + word + " as well";
    } else {
      options.file = word;
    }
  }
  if (options.file.empty()) return "expected a file that BRAID_TRACE has written";
  if (options.recovers && (options.adds_tracks || options.has_request))
    return "--recover cannot be combined with other options";
  return std::nullopt;
}

void append(const std::string& file, const std::string& bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::app);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::system_error(errno, std::generic_category(), file);
}

auto print(const std::string& text) -> int {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? 0 : 1;
}

auto recover(const std::string& file) -> int {
  try {
    return print(escaped(recover_trace(file)) + "\n");
  } catch (const std::exception& error) {
    return failed(std::string("the trace cannot be recovered: ") + error.what());
  }
}

auto show(const trace_options& options) -> int {
  const trace_file trace = parse_trace(read_trace(options.file));
  if (options.adds_tracks && trace.has_paths) return failed(options.file + " already contains the tracks of --tracks");
  if (options.adds_tracks && trace.is_cut)
    return failed(options.file + " ends in the middle of a packet, so no tracks can be appended");
  std::vector<traced_request> requests = find_requests(trace, options.request);
  if (requests.empty())
    return failed(options.has_request
                      ? "no request, activity, task or span in " + options.file + " is called " + options.request
                      : options.file + " contains no finished request, activity or spawned task");
  requests.resize(std::min(requests.size(), max_requests));
  if (options.adds_tracks) append(options.file, format_tracks(trace, requests));
  return print(to_text(trace, requests));
}

}  // namespace

auto run_trace(std::span<const std::string> words) -> int {
  trace_options options;
  if (const auto problem = read(words, options)) return wrong(*problem);
  if (options.recovers) return recover(options.file);
  try {
    return show(options);
  } catch (const std::exception& error) {
    return failed(options.file + " cannot be read: " + error.what());
  }
}

}  // namespace braid::doctor
