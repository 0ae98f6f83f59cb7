// src/trace/settings.cpp: reads FILE[,mb=N][,what=jobs+tasks+io+nodes].
#include <braid/trace/detail/settings.hpp>

#include <charconv>
#include <optional>

namespace braid::detail {
namespace {

using outcome = std::expected<trace_settings, std::string>;

/// Takes the text up to the separator off the front of `rest`.
auto take(std::string_view& rest, char separator) -> std::string_view {
  const std::size_t end = rest.find(separator);
  const std::string_view first = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return first;
}

auto megabytes(std::string_view digits) -> std::optional<std::uint64_t> {
  constexpr std::uint64_t max_megabytes = 1'000'000;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number == 0 || number > max_megabytes) return {};
  return number;
}

auto group_named(std::string_view name) -> std::optional<trace_group> {
  if (name == "jobs") return trace_group::jobs;
  if (name == "tasks") return trace_group::tasks;
  if (name == "io") return trace_group::io;
  if (name == "nodes") return trace_group::nodes;
  return {};
}

auto with_groups(trace_settings found, std::string_view names) -> outcome {
  found.groups = static_cast<std::uint8_t>(trace_group::user);
  do {
    const std::string_view name = take(names, '+');
    const auto group = group_named(name);
    if (!group) return std::unexpected("what=" + std::string(name) + " is none of jobs, tasks, io and nodes");
    found.groups |= static_cast<std::uint8_t>(*group);
  } while (!names.empty());
  return found;
}

auto with_option(trace_settings found, std::string_view option) -> outcome {
  std::string_view value = option;
  const std::string_view key = take(value, '=');
  if (key == "what") return with_groups(std::move(found), value);
  if (key != "mb") return std::unexpected("\"" + std::string(option) + "\" is neither mb=N nor what=…");
  const auto size = megabytes(value);
  if (!size) return std::unexpected("mb=" + std::string(value) + " is no number of megabytes from 1 to 1000000");
  found.max_bytes = *size << 20U;
  return found;
}

}  // namespace

auto parse_trace_settings(std::string_view text) -> outcome {
  outcome found = trace_settings{.file = std::string(take(text, ','))};
  if (found->file.empty()) return std::unexpected(std::string("no file is named"));
  while (found && !text.empty()) found = with_option(std::move(*found), take(text, ','));
  return found;
}

}  // namespace braid::detail
