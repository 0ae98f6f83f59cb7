// braid/trace/detail/metric_writer.hpp: writes families of metrics as text.
#pragma once

#include <braid/base/config.hpp>
#include <braid/trace/metric.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace braid::detail {

/// Writes metric families one after the other. Call `family` before you write the samples of a family. Names consist of
/// letters, digits and `_`; label values are any text. Threads: one at a time. Errors: std::bad_alloc. Source:
/// Prometheus text format 0.0.4; OpenMetrics 1.0.
class BRAID_API metric_writer {
 public:
  using kind = metric::type;
  struct label {
    std::string_view name;
    std::string_view value;
  };

  explicit metric_writer(metric::format format = metric::format::prometheus) noexcept : format_(format) {}

  /// Begins a family. The name of a counter ends with `_total`. The unit is written only in the OpenMetrics format.
  void family(std::string_view name, kind type, std::string_view help, std::string_view unit = {});

  /// Writes one sample. `suffix` is `_bucket`, `_sum` or `_count` for a sample of a histogram, and empty for other
  /// samples.
  void sample(std::string_view suffix, std::span<const label> labels, double value);
  void sample(std::string_view suffix, std::initializer_list<label> labels, double value) {
    sample(suffix, std::span(labels.begin(), labels.size()), value);
  }
  void sample(std::initializer_list<label> labels, double value) { sample({}, labels, value); }

  /// Writes the samples of one histogram. `buckets` are cumulative, and the last bucket is the total.
  void histogram(std::span<const label> labels, std::span<const metric::bucket> buckets, double sum);
  void histogram(std::initializer_list<label> labels, std::span<const metric::bucket> buckets, double sum) {
    histogram(std::span(labels.begin(), labels.size()), buckets, sum);
  }

  /// Writes metrics and the headers of their families, in the order in which `metrics_text` writes them. Requires that
  /// none of these families was written before.
  void add(std::span<const metric> all);

  /// Returns the text of all families that have been written so far.
  [[nodiscard]] auto text() const noexcept -> const std::string& { return text_; }

 private:
  void append_sample(std::string_view suffix, std::span<const label> labels, std::string_view bound,
                     std::string_view value);

  metric::format format_;
  std::string sample_;  // the name of the samples of the current family, without suffix
  std::string text_;
};

}  // namespace braid::detail
