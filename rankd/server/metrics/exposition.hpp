// rankd/server/metrics/exposition.hpp: metrics as text for Prometheus.
#pragma once

#include <braid/trace/metric.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace rankd {

/// Writes metric families one after the other. Each family is begun before its samples. Names consist of letters,
/// digits and `_`; label values are any text. Source: Prometheus text format 0.0.4.
class exposition {
 public:
  /// The media type of the text.
  static constexpr std::string_view media_type = "text/plain; version=0.0.4; charset=utf-8";

  enum class kind : std::uint8_t { counter, gauge, histogram };
  struct label {
    std::string_view name;
    std::string_view value;
  };

  void family(std::string_view name, kind type, std::string_view help);
  /// Writes one sample. `suffix` is `_bucket`, `_sum` or `_count` in a histogram, and empty elsewhere.
  void sample(std::string_view suffix, std::span<const label> labels, double value);
  void sample(std::string_view suffix, std::initializer_list<label> labels, double value) {
    sample(suffix, std::span(labels.begin(), labels.size()), value);
  }
  void sample(std::initializer_list<label> labels, double value) { sample({}, labels, value); }

  /// Adds metric families of braid. Requires that they were not added before.
  void add(std::span<const braid::metric> all) { text_ += braid::metrics_text(all); }

  /// Returns the text of all metric families so far.
  [[nodiscard]] auto text() const noexcept -> const std::string& { return text_; }

 private:
  std::string family_;
  std::string text_;
};

}  // namespace rankd
