// src/thread/worker_count.cpp: computes the default number of workers from BRAID_WORKERS, the allowed CPUs and the CPU
// quota.
#include <braid/base/detail/number_in.hpp>
#include <braid/thread/cgroup.hpp>
#include <braid/thread/detail/allowed_cpus.hpp>
#include <braid/thread/detail/system_file.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace braid {
namespace {

constexpr const char* variable = "BRAID_WORKERS";
constexpr unsigned max_workers = 4096;

auto workers_in(std::string_view text) -> std::optional<unsigned> {
  const auto count = detail::number_in<unsigned>(text);
  if (!count || *count < 1 || *count > max_workers) return std::nullopt;
  return count;
}

/// Returns a short, printable form of the text, without control characters.
auto printable(std::string_view text) -> std::string {
  constexpr std::size_t max_length = 40;
  std::string shown(text.substr(0, max_length));
  std::ranges::replace_if(shown, [](char each) { return each < ' ' || each > '~'; }, '?');
  return text.size() > max_length ? shown + "..." : shown;
}

auto shortest(double number) -> std::string {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

auto explain(const worker_count& count) -> std::string {
  const std::string cpus = std::to_string(count.allowed_cpus) + (count.allowed_cpus == 1 ? " CPU is" : " CPUs are");
  if (!count.quota) return cpus + " allowed, and no cgroup limits the CPU time";
  return cpus + " allowed, " + count.quota->file + " grants the CPU time of " + shortest(count.quota->cpus);
}

auto count_allowed(unsigned allowed, const std::optional<cgroup::quota>& quota) -> unsigned {
  if (!quota) return std::max(1U, allowed);
  return std::max(1U, static_cast<unsigned>(std::min<double>(std::ceil(quota->cpus), allowed)));
}

}  // namespace

auto default_worker_count(const std::string& root) -> worker_count {
  const char* text = std::getenv(variable);
  worker_count count;
  count.allowed_cpus = static_cast<unsigned>(detail::read_allowed_cpus(root).cpus.size());
  count.quota = cgroup::cpu_quota(root);
  count.environment = text == nullptr ? std::nullopt : workers_in(text);
  count.workers = count.environment.value_or(count_allowed(count.allowed_cpus, count.quota));
  if (count.environment)
    count.reason = std::string(variable) + " says " + std::to_string(*count.environment);
  else
    count.reason = explain(count);
  if (text != nullptr && !count.environment)
    count.reason += "; " + std::string(variable) + " is ignored: \"" + printable(text) +
                    "\" is not a number from 1 to " + std::to_string(max_workers);
  return count;
}

}  // namespace braid
