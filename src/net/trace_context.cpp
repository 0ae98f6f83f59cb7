// src/net/trace_context.cpp: parses and formats the header fields traceparent and tracestate.
#include <braid/net/trace_context.hpp>

#include "../platform/system.hpp"

#include <braid/base/random.hpp>
#include <braid/net/detail/http_text.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace braid {

constinit const task_local<trace_context> trace_context::current;

namespace {

constexpr std::size_t max_members = 32;
constexpr std::size_t max_state = 512;    // the number of characters that are always passed on
constexpr std::size_t long_member = 128;  // longer members are removed first

constinit thread_local std::optional<random_source> numbers;

/// Resets the random numbers in the child of a fork. Otherwise the child would produce the same numbers as its parent.
void forget_numbers_in_child() noexcept { numbers.reset(); }

[[maybe_unused]] const int numbers_fork_handler = detail::call_at_fork(nullptr, nullptr, &forget_numbers_in_child);

/// Returns a random number other than 0. Each thread has its own sequence.
[[gnu::noinline]] auto random_number() -> std::uint64_t {
  if (!numbers) {
    std::random_device device;
    const std::uint64_t high = device();
    numbers.emplace(high << 32U | device());
  }
  std::uint64_t out = 0;
  while (out == 0) out = (*numbers)();
  return out;
}

constexpr auto is_lower_hex(char c) noexcept -> bool { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/// Parses up to 16 hexadecimal digits. Returns nothing if a character is not such a digit.
auto parse_hex(std::string_view digits) -> std::optional<std::uint64_t> {
  std::uint64_t out = 0;
  for (const char c : digits) {
    if (!is_lower_hex(c)) return std::nullopt;
    out = out << 4U | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return out;
}

void append_hex(std::string& out, std::uint64_t number, unsigned digits) {
  constexpr std::string_view hex = "0123456789abcdef";
  for (unsigned left = digits; left > 0; --left) out += hex[(number >> (4 * (left - 1))) & 0xfU];
}

auto is_key(std::string_view text) -> bool {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '*' || c == '/' || c == '@';
  };
  const auto begins = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 256 && begins(text.front()) && std::ranges::all_of(text, fits);
}

auto is_value(std::string_view text) -> bool {
  const auto fits = [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; };
  return !text.empty() && text.size() <= 256 && std::ranges::all_of(text, fits);
}

/// Returns whether the text is a valid member of `tracestate`, which has the form `key=value`.
auto is_member(std::string_view text) -> bool {
  const std::size_t equals = text.find('=');
  return equals != std::string_view::npos && is_key(text.substr(0, equals)) && is_value(text.substr(equals + 1));
}

/// Returns the members of a comma-separated list, without empty members.
auto members_of(std::string_view list) -> std::vector<std::string_view> {
  std::vector<std::string_view> out;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view member = detail::trimmed(list.substr(0, comma));
    if (!member.empty()) out.push_back(member);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

auto joined(const std::vector<std::string_view>& members) -> std::string {
  std::string out;
  for (const std::string_view each : members) {
    if (!out.empty()) out += ',';
    out += each;
  }
  return out;
}

/// Removes members from the list until it is short enough. Removes long members first. Then removes members from the
/// end of the list, which are the oldest.
auto shortened(std::vector<std::string_view> members) -> std::string {
  const auto size = [&] {
    return std::accumulate(members.begin(), members.end(), members.size() - 1,
                           [](std::size_t sum, std::string_view each) { return sum + each.size(); });
  };
  while (!members.empty() && size() > max_state) {
    const auto found = std::ranges::find_if(members, [](std::string_view each) { return each.size() > long_member; });
    members.erase(found != members.end() ? found : members.end() - 1);
  }
  return joined(members);
}

/// Returns the value of tracestate. Combines several fields with this name into one list.
auto find_state(const http_fields& fields) -> std::string {
  std::string all;
  for (const http_fields::field field : fields) {
    if (!detail::same_name(field.name, "tracestate")) continue;
    if (!all.empty()) all += ',';
    all += field.value;
  }
  std::vector<std::string_view> members = members_of(all);
  if (members.empty() || members.size() > max_members || !std::ranges::all_of(members, is_member)) return {};
  return all.size() <= max_state ? all : shortened(std::move(members));
}

}  // namespace

auto trace_context::begin() -> trace_context {
  return {.trace_id = {random_number(), random_number()}, .span_id = random_number()};
}

/// Parses the format 00-trace_id-span_id-flags. A later version may have further parts, each after another dash.
auto trace_context::parse(std::string_view traceparent) -> std::optional<trace_context> {
  constexpr std::size_t size = 55;
  if (traceparent.size() < size) return std::nullopt;
  const auto version = parse_hex(traceparent.substr(0, 2));
  if (!version || *version == 0xff) return std::nullopt;
  const bool ends = traceparent.size() == size;
  if (!ends && (*version == 0 || traceparent[size] != '-')) return std::nullopt;
  if (traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-') return std::nullopt;
  const auto high = parse_hex(traceparent.substr(3, 16));
  const auto low = parse_hex(traceparent.substr(19, 16));
  const auto span = parse_hex(traceparent.substr(36, 16));
  const auto flags = parse_hex(traceparent.substr(53, 2));
  if (!high || !low || !span || !flags || (*high == 0 && *low == 0) || *span == 0) return std::nullopt;
  return trace_context{.trace_id = {*high, *low}, .span_id = *span, .is_sampled = (*flags & 1U) != 0};
}

auto trace_context::of(const http_fields& fields) -> trace_context {
  const auto field = fields.find("traceparent");
  if (!field || fields.count("traceparent") > 1) return begin();
  const auto caller = parse(*field);
  if (!caller) return begin();
  trace_context out = caller->child();
  out.state = find_state(fields);
  return out;
}

auto trace_context::child() const -> trace_context {
  trace_context out = *this;
  out.parent_id = std::exchange(out.span_id, random_number());
  return out;
}

auto trace_context::traceparent() const -> std::string {
  std::string out = "00-" + trace_id_text() + "-";
  append_hex(out, span_id, 16);
  return out += is_sampled ? "-01" : "-00";
}

auto trace_context::trace_id_text() const -> std::string {
  std::string out;
  append_hex(out, trace_id[0], 16);
  append_hex(out, trace_id[1], 16);
  return out;
}

}  // namespace braid
