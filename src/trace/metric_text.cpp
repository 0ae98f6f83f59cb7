// src/trace/metric_text.cpp: metrics in the text formats of Prometheus and OpenMetrics.
#include <braid/trace/metric.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <map>

namespace braid {
namespace {

/// `\`, line ends, and in the values of labels quotes are escaped.
void append_escaped(std::string& out, std::string_view text, bool is_quoted) {
  for (const char each : text) {
    if (each == '\\' || (is_quoted && each == '"')) out += '\\';
    if (each == '\n')
      out += "\\n";
    else
      out += each;
  }
}

class writer {
 public:
  explicit writer(metric::format how) noexcept : how_(how) {}

  void begin_family(const metric& of) {
    sample_ = of.name + (of.kind == metric::type::counter ? "_total" : "");
    const std::string& family = how_ == metric::format::open_metrics ? of.name : sample_;
    ((text_ += "# HELP ") += family) += ' ';
    append_escaped(text_, of.help, how_ == metric::format::open_metrics);
    (((text_ += "\n# TYPE ") += family) += of.kind == metric::type::counter ? " counter" : " gauge") += '\n';
    if (how_ == metric::format::open_metrics && !of.unit.empty())
      ((((text_ += "# UNIT ") += family) += ' ') += of.unit) += '\n';
  }

  void add(const metric& of) {
    text_ += sample_;
    char separator = '{';
    for (const metric::label& each : of.labels) {
      ((text_ += separator) += each.name) += "=\"";
      append_escaped(text_, each.value, true);
      text_ += '"';
      separator = ',';
    }
    text_ += of.labels.empty() ? " " : "} ";
    std::array<char, 32> room{};
    const auto end = std::to_chars(room.data(), room.data() + room.size(), of.value);
    text_.append(room.data(), end.ptr) += '\n';
  }

  auto end() -> std::string {
    if (how_ == metric::format::open_metrics) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  metric::format how_;
  std::string sample_;
  std::string text_;
};

}  // namespace

auto metrics_text(std::span<const metric> all, metric::format how) -> std::string {
  std::map<std::string_view, std::size_t> known;
  std::vector<std::vector<const metric*>> families;
  for (const metric& each : all) {
    const auto [found, is_new] = known.try_emplace(each.name, families.size());
    if (is_new) families.emplace_back();
    families[found->second].push_back(&each);
  }
  writer out(how);
  for (const auto& family : families) {
    out.begin_family(*family.front());
    for (const metric* const each : family) out.add(*each);
  }
  return out.end();
}

}  // namespace braid
