// braid/trace/detail/metric_source.hpp: a base for parts of the process, such as servers, that add their counters to
// the metrics of an event loop.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/trace/detail/owner_count.hpp>
#include <braid/trace/detail/time_histogram.hpp>
#include <braid/trace/metric.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::detail {

/// A list of samples that have some labels in common.
class BRAID_API metric_list {
 public:
  /// Sets the labels of the following samples.
  void label(std::vector<metric::label> labels) { labels_ = std::move(labels); }

  void counter(std::string_view name, std::string_view help, double value) {
    add(metric::type::counter, name, help, value);
  }
  void gauge(std::string_view name, std::string_view help, double value) {
    add(metric::type::gauge, name, help, value);
  }
  void histogram(std::string_view name, std::string_view help, const time_histogram& times);

  /// Returns all samples. Samples with the same name and labels, for example from two servers on one loop, are added
  /// up.
  [[nodiscard]] auto take() -> std::vector<metric>;

 private:
  void add(metric::type kind, std::string_view name, std::string_view help, double value,
           std::vector<metric::bucket> buckets = {});

  std::vector<metric::label> labels_;
  std::vector<metric> metrics_;
};

/// Keeps a part of the process that has counters in a global list, as long as this object exists. Declare it as the
/// last member of the part, so that the members that `add` reads exist as long as this object. Threads: any; `add` is
/// called on the thread that collects the metrics. Blocks: for the lock of the list.
class BRAID_API metric_source : public list_hook {
 public:
  using add_fn = void (*)(const void* part, metric_list& metrics);

  /// Adds the part to the list. `loop` is the loop to which the part belongs. The function `add` is called with `part`,
  /// and must not add or remove parts.
  metric_source(const void* loop, add_fn add, const void* part) noexcept;
  metric_source(const metric_source&) = delete;
  auto operator=(const metric_source&) -> metric_source& = delete;
  ~metric_source();

  /// Adds the samples of all parts of the loop.
  static void add_those_on(const void* loop, metric_list& metrics);

 private:
  const void* loop_;
  add_fn add_;
  const void* part_;
};

}  // namespace braid::detail
