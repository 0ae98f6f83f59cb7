// src/trace/metric_text.cpp: formats metrics in the text formats of Prometheus and OpenMetrics.
#include <braid/trace/detail/metric_writer.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace braid {
namespace detail {
namespace {

/// Appends text, and escapes `\` and line ends in it. If the text is the value of a label, quotes are escaped as well.
void append_escaped(std::string& out, std::string_view text, bool is_quoted) {
  for (const char each : text) {
    if (each == '\\' || (is_quoted && each == '"')) out += '\\';
    if (each == '\n')
      out += "\\n";
    else
      out += each;
  }
}

auto name_of(metric::type kind) -> const char* {
  switch (kind) {
    case metric::type::counter: return "counter";
    case metric::type::histogram: return "histogram";
    case metric::type::gauge: break;
  }
  return "gauge";
}

auto to_text(double value) -> std::string {
  if (std::isinf(value) && value > 0) return "+Inf";
  std::array<char, 32> room{};
  return {room.data(), std::to_chars(room.data(), room.data() + room.size(), value).ptr};
}

/// Formats the upper bound of a bucket. OpenMetrics requires a decimal point even for whole numbers.
auto to_bound(double bound, metric::format format) -> std::string {
  std::string text = to_text(bound);
  if (format == metric::format::open_metrics && text.find_first_of(".eI") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

void metric_writer::family(std::string_view name, kind type, std::string_view help, std::string_view unit) {
  constexpr std::string_view total = "_total";
  sample_ = name;
  const bool is_open = format_ == metric::format::open_metrics;
  if (is_open && type == kind::counter && name.ends_with(total)) name.remove_suffix(total.size());
  ((text_ += "# HELP ") += name) += ' ';
  append_escaped(text_, help, is_open);
  ((((text_ += "\n# TYPE ") += name) += ' ') += name_of(type)) += '\n';
  if (is_open && !unit.empty()) ((((text_ += "# UNIT ") += name) += ' ') += unit) += '\n';
}

void metric_writer::sample(std::string_view suffix, std::span<const label> labels, double value) {
  append_sample(suffix, labels, {}, to_text(value));
}

void metric_writer::histogram(std::span<const label> labels, std::span<const metric::bucket> buckets, double sum) {
  for (const metric::bucket& each : buckets)
    append_sample("_bucket", labels, to_bound(each.bound, format_), std::to_string(each.count));
  append_sample("_sum", labels, {}, to_text(sum));
  append_sample("_count", labels, {}, std::to_string(buckets.empty() ? 0 : buckets.back().count));
}

void metric_writer::add(std::span<const metric> all) {
  std::map<std::string_view, std::size_t> known;
  std::vector<std::vector<const metric*>> families;
  for (const metric& each : all) {
    const auto [found, is_new] = known.try_emplace(each.name, families.size());
    if (is_new) families.emplace_back();
    families[found->second].push_back(&each);
  }
  std::vector<label> labels;
  for (const auto& members : families) {
    const metric& first = *members.front();
    family(first.name + (first.kind == kind::counter ? "_total" : ""), first.kind, first.help, first.unit);
    for (const metric* const each : members) {
      labels.clear();
      for (const metric::label& one : each->labels) labels.push_back({.name = one.name, .value = one.value});
      if (each->kind == kind::histogram)
        histogram(labels, each->buckets, each->value);
      else
        sample({}, labels, each->value);
    }
  }
}

/// Appends one line. Writes `bound`, the upper bound of a bucket, as the last label unless it is empty.
void metric_writer::append_sample(std::string_view suffix, std::span<const label> labels, std::string_view bound,
                                  std::string_view value) {
  (text_ += sample_) += suffix;
  char separator = '{';
  const auto add_label = [&](const label& each) {
    ((text_ += std::exchange(separator, ',')) += each.name) += "=\"";
    append_escaped(text_, each.value, true);
    text_ += '"';
  };
  for (const label& each : labels) add_label(each);
  if (!bound.empty()) add_label({.name = "le", .value = bound});
  ((text_ += separator == '{' ? " " : "} ") += value) += '\n';
}

}  // namespace detail

auto metrics_text(std::span<const metric> all, metric::format format) -> std::string {
  detail::metric_writer out(format);
  out.add(all);
  return format == metric::format::open_metrics ? out.text() + "# EOF\n" : out.text();
}

}  // namespace braid
