// tests/rankd/server/metrics.hpp: reads metrics as strictly as the format of Prometheus allows.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rankd::testing {

class metric_reader {
 public:
  /// All samples by name and labels, as they are written. Throws for whatever the format does not allow: samples
  /// without their family in front, a family or a sample that is listed twice, names and labels that are none,
  /// buckets that do not grow or do not end with all.
  auto read(std::string_view text) -> std::map<std::string, double> {
    if (!text.empty() && text.back() != '\n') fail("the last line does not end");
    while (!text.empty()) {
      line_ = text.substr(0, text.find('\n'));
      text.remove_prefix(line_.size() + 1);
      if (line_.starts_with("# HELP "))
        begin_family(line_.substr(7));
      else if (line_.starts_with("# TYPE "))
        set_type(line_.substr(7));
      else
        read_sample();
    }
    for (const auto& [series, count] : inf_)
      if (!counts_.contains(series) || counts_[series] != count) fail("+Inf of " + series + " is not its count");
    return samples_;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw std::runtime_error(why + " in: " + std::string(line_)); }

  static auto is_name(std::string_view text) -> bool {
    if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return false;
    return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == text.npos;
  }

  void begin_family(std::string_view rest) {
    const std::string name(rest.substr(0, rest.find(' ')));
    if (!is_name(name) || rest.size() < name.size() + 2) fail("no name or no help");
    if (!families_.insert(name).second) fail("a family twice");
    family_ = name;
    type_.clear();
  }

  void set_type(std::string_view rest) {
    if (rest.substr(0, rest.find(' ')) != family_ || !type_.empty()) fail("a type without its help");
    type_ = rest.substr(family_.size() + 1);
    if (type_ != "counter" && type_ != "gauge" && type_ != "histogram") fail("no type");
    if (type_ == "counter" && !family_.ends_with("_total")) fail("a counter ends in _total");
  }

  /// Takes `name="value"` pairs up to the brace; gives those except `le`, and what that says.
  auto read_labels(std::string_view& rest, std::string& le) -> std::string {
    std::string others;
    std::set<std::string> seen;
    while (true) {
      const std::size_t equals = rest.find("=\"");
      if (equals == rest.npos) fail("a label without a value");
      const std::string name(rest.substr(0, equals));
      if (!is_name(name) || !seen.insert(name).second) fail("no label, or one twice");
      rest.remove_prefix(equals + 2);
      std::string value;
      for (; !rest.empty() && rest.front() != '"'; rest.remove_prefix(1)) {
        value += rest.front();
        if (rest.front() != '\\') continue;
        rest.remove_prefix(1);
        if (rest.empty() || (rest.front() != 'n' && rest.front() != '"' && rest.front() != '\\')) fail("no escape");
        value += rest.front();
      }
      if (rest.empty()) fail("a value without an end");
      rest.remove_prefix(1);
      if (name == "le")
        le = value;
      else
        others += name + "=" + value + ",";
      if (rest.starts_with('}')) break;
      if (!rest.starts_with(',')) fail("no comma");
      rest.remove_prefix(1);
    }
    rest.remove_prefix(1);
    return others;
  }

  static auto number(std::string_view text) -> double {
    if (text == "+Inf") return std::numeric_limits<double>::infinity();
    double value = std::nan("");
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    return end.ec == std::errc() && end.ptr == text.data() + text.size() ? value : std::nan("");
  }

  void read_sample() {
    std::string_view rest = line_;
    const std::string name(rest.substr(0, rest.find_first_of("{ ")));
    rest.remove_prefix(name.size());
    std::string le;
    std::string labels;
    if (rest.starts_with('{')) {
      rest.remove_prefix(1);
      labels = read_labels(rest, le);
    }
    if (!rest.starts_with(' ')) fail("no blank before the value");
    const double value = number(rest.substr(1));
    if (std::isnan(value) || (type_ != "gauge" && value < 0)) fail("no value");
    const std::string key(line_.substr(0, line_.size() - rest.size()));
    if (!samples_.emplace(key, value).second) fail("a sample twice");
    if (type_ == "histogram")
      check_histogram(name, labels, le, value);
    else if (type_.empty() || name != family_ || !le.empty())
      fail("a sample outside of its family");
  }

  void check_histogram(const std::string& name, const std::string& labels, const std::string& le, double value) {
    const std::string series = family_ + "{" + labels;
    if (name == family_ + "_count") counts_[series] = value;
    if (name == family_ + "_count" || name == family_ + "_sum") return;
    if (name != family_ + "_bucket" || le.empty()) fail("no part of a histogram");
    const double bound = number(le);
    if (series != series_) last_bound_ = last_count_ = -1;
    if (!(bound > last_bound_) || value < last_count_) fail("buckets that do not grow");
    series_ = series;
    last_bound_ = bound;
    last_count_ = value;
    if (std::isinf(bound)) inf_[series] = value;
  }

  std::string_view line_;
  std::string family_;
  std::string type_;
  std::set<std::string> families_;
  std::map<std::string, double> samples_;
  std::map<std::string, double> inf_;
  std::map<std::string, double> counts_;
  std::string series_;
  double last_bound_ = -1;
  double last_count_ = -1;
};

inline auto read_metrics(std::string_view text) -> std::map<std::string, double> { return metric_reader().read(text); }

}  // namespace rankd::testing
