// src/trace/metric_source.cpp: keeps a list of all objects of the process that export metrics.
#include <braid/trace/detail/metric_source.hpp>

#include <braid/base/detail/never_destroyed.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

namespace braid::detail {
namespace {

/// The list of metric sources. It is never destroyed, because sources may exist until the process exits.
struct source_list {
  fork_safe_mutex lock;
  intrusive_list<metric_source> sources;  // under the lock
};

auto listed() noexcept -> source_list& {
  static never_destroyed<source_list> made;
  return made.value;
}

/// Adds a metric to a sum. Histograms with the same name have the same bounds, so their buckets are added one by one.
void add_to(metric& sum, const metric& other) {
  sum.value += other.value;
  for (std::size_t at = 0; at < sum.buckets.size(); ++at) sum.buckets[at].count += other.buckets[at].count;
}

}  // namespace

void metric_list::histogram(std::string_view name, std::string_view help, const time_histogram& times) {
  add(metric::type::histogram, name, help, times.seconds(), times.buckets());
}

void metric_list::add(metric::type kind, std::string_view name, std::string_view help, double value,
                      std::vector<metric::bucket> buckets) {
  std::string_view unit;
  for (const std::string_view each : {"seconds", "bytes"})
    if (name.ends_with(each)) unit = each;
  metrics_.push_back({.name = std::string(name),
                      .unit = std::string(unit),
                      .kind = kind,
                      .help = std::string(help),
                      .labels = labels_,
                      .value = value,
                      .buckets = std::move(buckets)});
}

auto metric_list::take() -> std::vector<metric> {
  const auto key_of = [](const metric& each) {
    std::string key = each.name;
    for (const metric::label& one : each.labels) (((key += '\0') += one.name) += '\0') += one.value;
    return key;
  };
  std::map<std::string, std::size_t> known;
  std::vector<metric> merged;
  for (metric& each : metrics_) {
    const auto [found, is_new] = known.try_emplace(key_of(each), merged.size());
    if (is_new)
      merged.push_back(std::move(each));
    else
      add_to(merged[found->second], each);
  }
  metrics_.clear();
  return merged;
}

metric_source::metric_source(const void* loop, add_fn add, const void* part) noexcept
    : loop_(loop), add_(add), part_(part) {
  const std::lock_guard guard(listed().lock);
  listed().sources.push_back(*this);
}

metric_source::~metric_source() {
  const std::lock_guard guard(listed().lock);
  unlink();
}

void metric_source::add_those_on(const void* loop, metric_list& metrics) {
  const std::lock_guard guard(listed().lock);
  listed().sources.for_each([&](const metric_source& each) {
    if (each.loop_ == loop) each.add_(each.part_, metrics);
  });
}

}  // namespace braid::detail
