// rankd/server/events/counter_sums.cpp: adds to integers, to fractions, and to sums that decay.
#include <rankd/server/events/counter_sums.hpp>

#include <braid/base/detail/number_in.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>
#include <variant>

namespace rankd {
namespace {

using braid::detail::number_in;

/// Formats a sum in the same way as HINCRBYFLOAT: with 17 digits after the point, but without zeros at the end.
auto fraction_text(long double sum) -> std::string {
  std::array<char, 5'200> digits{};  // the largest long double has 4933 before the point
  const int size = std::snprintf(digits.data(), digits.size(), "%.17Lf", sum);
  std::string out(digits.data(), static_cast<std::size_t>(size));
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out == "-0" ? "0" : out;
}

auto whole_sum(const std::string* was, const std::string& amount) -> std::optional<std::string> {
  const auto before = was == nullptr ? std::optional<std::int64_t>(0) : number_in<std::int64_t>(*was);
  const auto more = number_in<std::int64_t>(amount);
  std::int64_t sum = 0;
  if (!before || !more || __builtin_add_overflow(*before, *more, &sum)) return std::nullopt;
  return std::to_string(sum);
}

auto fraction_sum(const std::string* was, const std::string& amount) -> std::optional<std::string> {
  const auto before = was == nullptr ? std::optional<long double>(0) : number_in<long double>(*was);
  const auto more = number_in<long double>(amount);
  if (!before || !more || !std::isfinite(*before + *more)) return std::nullopt;
  return fraction_text(*before + *more);
}

auto printed(const char* format, double value) -> std::string {
  std::array<char, 400> digits{};  // the largest double has 309 before the point
  const int size = std::snprintf(digits.data(), digits.size(), format, value);
  return {digits.data(), static_cast<std::size_t>(size)};
}

/// Computes the same result as the script in step_kinds.cpp. Uses doubles, like Lua.
auto add_fading(counted_hash& hash, const event_rule& counter, const rule_step& step) -> bool {
  const std::string time_field = counter.time_field();
  const auto half_life = static_cast<double>(counter.half_life_s * 1000);
  auto now = static_cast<double>(step.at.count());
  const double by = number_in<double>(amount_text(step.by)).value_or(0);
  double sum = by;
  if (const std::string* was = hash.find(counter.name)) {
    const std::string* at = hash.find(time_field);
    const auto value = number_in<double>(*was);
    const auto time = at == nullptr ? std::optional<double>(now) : number_in<double>(*at);
    if (!value || !time) return false;
    if (*time > now) {
      sum = *value + by * std::pow(2.0, (now - *time) / half_life);
      now = *time;
    } else {
      sum = *value * std::pow(2.0, (*time - now) / half_life) + by;
    }
  }
  if (!std::isfinite(sum)) return false;
  hash.set(counter.name, printed("%.17g", sum));
  hash.set(time_field, printed("%.0f", now));
  return true;
}

}  // namespace

auto amount_text(const scalar& amount) -> std::string {
  std::array<char, 64> digits{};
  char* const last = digits.data() + digits.size();
  const auto* whole = std::get_if<std::int64_t>(&amount);
  const auto end = whole != nullptr ? std::to_chars(digits.data(), last, *whole)
                                    : std::to_chars(digits.data(), last, std::get<double>(amount));
  return {digits.data(), end.ptr};
}

auto adds_integers(const event_rules& rules, const event_rule& counter) -> bool {
  if (counter.by.empty()) return true;
  const event_type* type = rules.find(counter.event);
  if (type == nullptr || !type->fields) return false;
  const auto field = type->fields->find(counter.by);
  return field != type->fields->end() && field->second == value_type::integer;
}

auto add_to(counted_hash& hash, const event_rules& rules, const rule_step& step) -> bool {
  const event_rule& counter = rules.all()[step.rule];
  if (counter.half_life_s != 0) {
    if (!add_fading(hash, counter, step)) return false;
  } else {
    const std::string by = amount_text(step.by);
    const std::string* was = hash.find(counter.name);
    auto sum = adds_integers(rules, counter) ? whole_sum(was, by) : fraction_sum(was, by);
    if (!sum) return false;
    hash.set(counter.name, std::move(*sum));
  }
  return true;
}

}  // namespace rankd
