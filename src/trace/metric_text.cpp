// src/trace/metric_text.cpp: formats metrics in the text formats of Prometheus and OpenMetrics.
#include <braid/trace/metric.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

namespace braid {
namespace {

/// Appends text with `\` and line ends escaped, and also quotes if it is the value of a label.
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

class writer {
 public:
  explicit writer(metric::format format) noexcept : format_(format) {}

  void begin_family(const metric& of) {
    sample_ = of.name + (of.kind == metric::type::counter ? "_total" : "");
    const std::string& family = format_ == metric::format::open_metrics ? of.name : sample_;
    ((text_ += "# HELP ") += family) += ' ';
    append_escaped(text_, of.help, format_ == metric::format::open_metrics);
    ((((text_ += "\n# TYPE ") += family) += ' ') += name_of(of.kind)) += '\n';
    if (format_ == metric::format::open_metrics && !of.unit.empty())
      ((((text_ += "# UNIT ") += family) += ' ') += of.unit) += '\n';
  }

  void add(const metric& of) {
    if (of.kind != metric::type::histogram) return add_sample("", of.labels, "", to_text(of.value));
    for (const metric::bucket& each : of.buckets)
      add_sample("_bucket", of.labels, to_bound(each.bound), std::to_string(each.count));
    add_sample("_sum", of.labels, "", to_text(of.value));
    add_sample("_count", of.labels, "", std::to_string(of.buckets.empty() ? 0 : of.buckets.back().count));
  }

  auto end() -> std::string {
    if (format_ == metric::format::open_metrics) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  /// Formats the upper bound of a bucket. OpenMetrics requires a decimal point even for whole numbers.
  auto to_bound(double bound) const -> std::string {
    std::string text = to_text(bound);
    if (format_ == metric::format::open_metrics && text.find_first_of(".eI") == std::string::npos) text += ".0";
    return text;
  }

  void add_label(char separator, std::string_view name, std::string_view value) {
    ((text_ += separator) += name) += "=\"";
    append_escaped(text_, value, true);
    text_ += '"';
  }

  void add_sample(const char* suffix, const std::vector<metric::label>& labels, const std::string& bound,
                  const std::string& value) {
    (text_ += sample_) += suffix;
    char separator = '{';
    for (const metric::label& each : labels) add_label(std::exchange(separator, ','), each.name, each.value);
    if (!bound.empty()) add_label(std::exchange(separator, ','), "le", bound);
    ((text_ += separator == '{' ? " " : "} ") += value) += '\n';
  }

  metric::format format_;
  std::string sample_;
  std::string text_;
};

}  // namespace

auto metrics_text(std::span<const metric> all, metric::format format) -> std::string {
  std::map<std::string_view, std::size_t> known;
  std::vector<std::vector<const metric*>> families;
  for (const metric& each : all) {
    const auto [found, is_new] = known.try_emplace(each.name, families.size());
    if (is_new) families.emplace_back();
    families[found->second].push_back(&each);
  }
  writer out(format);
  for (const auto& family : families) {
    out.begin_family(*family.front());
    for (const metric* const each : family) out.add(*each);
  }
  return out.end();
}

}  // namespace braid
