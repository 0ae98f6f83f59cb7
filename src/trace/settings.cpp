// src/trace/settings.cpp: parses BRAID_TRACE: FILE[,mb=N][,what=jobs+tasks+io+nodes][,recover | ,last=8s[,on=signal]].
#include <braid/trace/detail/settings.hpp>

#include <braid/base/detail/number_in.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace braid::detail {
namespace {

using parsed_settings = std::expected<trace_settings, std::string>;

/// Removes the text up to the separator from the front of `rest`, and returns that text.
auto take(std::string_view& rest, char separator) -> std::string_view {
  const std::size_t end = rest.find(separator);
  const std::string_view first = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return first;
}

auto megabytes(std::string_view digits) -> std::optional<std::uint64_t> {
  constexpr std::uint64_t max_megabytes = 1'000'000;
  const auto number = detail::number_in<std::uint64_t>(digits);
  return number && *number != 0 && *number <= max_megabytes ? number : std::nullopt;
}

/// Parses a duration from 1ms to 600s, and returns it in nanoseconds.
auto parse_span(std::string_view text) -> std::optional<std::uint64_t> {
  const auto span = duration_in(text);
  if (!span || *span > std::chrono::minutes(10)) return std::nullopt;
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(*span).count());
}

auto group_named(std::string_view name) -> std::optional<trace_group> {
  if (name == "jobs") return trace_group::jobs;
  if (name == "tasks") return trace_group::tasks;
  if (name == "io") return trace_group::io;
  if (name == "nodes") return trace_group::nodes;
  return {};
}

auto with_groups(trace_settings found, std::string_view names) -> parsed_settings {
  found.groups = static_cast<std::uint8_t>(trace_group::user);
  do {
    const std::string_view name = take(names, '+');
    const auto group = group_named(name);
    if (!group) return std::unexpected("what=" + std::string(name) + " is not one of jobs, tasks, io and nodes");
    found.groups |= static_cast<std::uint8_t>(*group);
  } while (!names.empty());
  return found;
}

auto with_option(trace_settings found, std::string_view option) -> parsed_settings {
  std::string_view value = option;
  const std::string_view key = take(value, '=');
  if (key == "what") return with_groups(std::move(found), value);
  if (key == "last") {
    const auto span = parse_span(value);
    if (!span) return std::unexpected("last=" + std::string(value) + " is not a time from 1ms to 600s");
    found.last_ns = *span;
    return found;
  }
  if (key == "on") {
    if (value != "signal") return std::unexpected("on=" + std::string(value) + " is not signal");
    found.at_signal = true;
    return found;
  }
  if (option == "recover") {
    found.recovers = true;
    return found;
  }
  if (key != "mb")
    return std::unexpected("\"" + std::string(option) +
                           "\" is not one of mb=N, what=…, recover, last=8s and on=signal");
  const auto size = megabytes(value);
  if (!size) return std::unexpected("mb=" + std::string(value) + " is not a number of megabytes from 1 to 1000000");
  found.max_bytes = *size << 20U;
  return found;
}

}  // namespace

auto parse_trace_settings(std::string_view text) -> parsed_settings {
  parsed_settings found = trace_settings{.file = std::string(take(text, ','))};
  if (found->file.empty()) return std::unexpected(std::string("the setting must begin with the name of a file"));
  constexpr std::uint64_t memory = std::uint64_t{64} << 20U;  // the default of mb=N
  const std::uint64_t usual = std::exchange(found->max_bytes, 0);
  while (found && !text.empty()) found = with_option(std::move(*found), take(text, ','));
  if (!found) return found;
  if (found->at_signal && found->last_ns == 0)
    return std::unexpected(
        std::string("on=signal needs a time such as last=8s; without it the whole trace is written continuously"));
  if (found->recovers && found->last_ns != 0)
    return std::unexpected(std::string("recover cannot be combined with last=8s, which keeps the trace in memory"));
  if (found->max_bytes == 0) found->max_bytes = found->last_ns != 0 ? memory : usual;
  return found;
}

}  // namespace braid::detail
