// doctor/path_text.cpp: formats the steps of critical paths as lines of text, and as slices of a trace.
#include <doctor/path_text.hpp>

#include <doctor/escape.hpp>

#include <braid/base/detail/counted.hpp>
#include <braid/trace/detail/perfetto.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace braid::doctor {
namespace {

auto microseconds(std::uint64_t ns) -> std::string {
  const std::string rest = std::to_string(ns % 1000);
  return std::to_string(ns / 1000) + '.' + std::string(3 - rest.size(), '0') + rest;
}

enum class side : std::uint8_t { left, right };

/// Pads the text with spaces on one side, so that columns are aligned.
auto in_column(std::string text, std::size_t width, side padding) -> std::string {
  if (text.size() < width) text.insert(padding == side::left ? 0 : text.size(), width - text.size(), ' ');
  return text;
}

auto format_line(std::uint64_t ns, const char* kind, const std::string& rest) -> std::string {
  return "  " + in_column(microseconds(ns), 14, side::left) + "  " + in_column(kind, 8, side::right) + ' ' + rest +
         '\n';
}

/// A group of consecutive steps that each take less than a hundredth of the request's time. The group is printed as one
/// line.
struct short_steps {
  std::size_t count = 0;
  std::uint64_t ns = 0;

  void write_to(std::string& text) {
    if (count != 0) text += format_line(ns, "...", braid::detail::counted(count, "short step"));
    *this = {};
  }
};

/// Returns the text with the parameter lists removed from all names of functions.
auto without_parameters(std::string_view text) -> std::string {
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  std::string kept;
  for (std::size_t depth = 0; !text.empty();) {
    if (text.starts_with(unnamed)) {
      text.remove_prefix(unnamed.size());
      continue;
    }
    const char next = text.front();
    text.remove_prefix(1);
    if (next == ')' && depth != 0) --depth;
    if (depth == 0) kept += next;
    if (next == '(') ++depth;
  }
  return kept;
}

auto format_line(const trace_file& trace, const path_step& step) -> std::string {
  return format_line(step.length(), name_of(step.kind),
                     in_column(escaped(trace.threads[step.thread].name), 16, side::right) + ' ' +
                         escaped(without_parameters(step.what)));
}

auto format_sums(std::span<const path_step> steps) -> std::string {
  std::array<std::uint64_t, path_kinds> sums{};
  std::uint64_t all = 0;
  for (const path_step& step : steps) {
    sums[static_cast<std::size_t>(step.kind)] += step.length();
    all += step.length();
  }
  std::string text = "  " + microseconds(all) + " =";
  const char* separator = " ";
  for (std::size_t kind = 0; kind < path_kinds; ++kind) {
    if (sums[kind] == 0) continue;
    text += std::exchange(separator, " + ");
    text += std::string(name_of(static_cast<path_kind>(kind))) + ' ' + microseconds(sums[kind]);
  }
  return text + '\n';
}

auto text_of(const trace_file& trace, const traced_request& request) -> std::string {
  const std::vector<path_step> steps = critical_path(trace, request);
  std::string text = escaped(request.name) + ": " + microseconds(request.length()) + " µs\n";
  short_steps between;
  for (const path_step& step : steps) {
    if (step.length() < request.length() / 100) {
      ++between.count;
      between.ns += step.length();
      continue;
    }
    between.write_to(text);
    text += format_line(trace, step);
  }
  between.write_to(text);
  return text + format_sums(steps);
}

}  // namespace

auto to_text(const trace_file& trace, std::span<const traced_request> requests) -> std::string {
  std::string text;
  for (const traced_request& each : requests) text += (text.empty() ? "" : "\n") + text_of(trace, each);
  if (trace.lost != 0)
    text += '\n' + braid::detail::counted(trace.lost, "record") + (trace.lost == 1 ? " is" : " are") +
            " missing, so paths may be wrong near the gaps\n";
  return text;
}

auto format_tracks(const trace_file& trace, std::span<const traced_request> requests) -> std::string {
  using event = braid::detail::trace_event;
  braid::detail::perfetto_writer out;
  std::uint32_t number = 0;
  for (const traced_request& each : requests) {
    const std::uint64_t track = first_path_track + number;
    out.track(track, "slowest " + std::to_string(number + 1) + ": " + each.name);
    braid::detail::perfetto_writer::sequence sequence{
        .id = first_path_sequence + number, .last_ns = 0, .known_names = {}};
    out.begin(sequence, track, each.first.when);
    ++number;
    for (const path_step& step : critical_path(trace, each)) {
      const std::uint32_t name = out.name(std::string(name_of(step.kind)) + ": " + without_parameters(step.what));
      out.event(sequence, step.begin, {.what = event::kind::begin, .name = name});
      out.event(sequence, step.end, {.what = event::kind::end});
    }
  }
  return out.bytes();
}

}  // namespace braid::doctor
