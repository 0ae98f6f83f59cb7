// rankd/server/events/step_kinds.cpp: defines, for each kind of rule, the change in memory and the commands for Redis.
#include <rankd/server/events/step_kinds.hpp>

#include <rankd/server/events/counter_sums.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

namespace rankd {
namespace {

using braid::redis_batch;

/// Adds to a decaying sum. KEYS[1] is the hash. ARGV contains the field of the sum, the field of its time, the amount
/// to add, the time of the event, and the half-life. The times are in milliseconds. If the event is older than the time
/// of the sum, its amount is first decayed to that time. Redis executes a script as one command, so no other server can
/// write between the script's read and its write.
constexpr std::string_view fading_sum = R"(
local was, at = unpack(redis.call('HMGET', KEYS[1], ARGV[1], ARGV[2]))
local by, now, half = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local sum = by
if was then
  local value, time = tonumber(was), tonumber(at or ARGV[4])
  if not value or not time then return redis.error_reply('ERR the counter is no number') end
  if time > now then
    sum, now = value + by * 2 ^ ((now - time) / half), time
  else
    sum = value * 2 ^ ((time - now) / half) + by
  end
end
if sum - sum ~= 0 then return redis.error_reply('ERR the counter would not be finite') end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.17g', sum), ARGV[2], string.format('%.0f', now))
return 1
)";

/// Adds a member to a set with a bound. KEYS[1] is the set; ARGV contains the member and the bound.
constexpr std::string_view bounded_add = R"(
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then return 0 end
if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[2]) then return redis.error_reply('ERR the set is full') end
return redis.call('SADD', KEYS[1], ARGV[1])
)";

/// Returns the lowest score of a member that is not too old.
auto oldest_score(const event_rule& rule, const rule_step& step) -> double {
  return static_cast<double>((step.received - std::chrono::seconds(rule.max_age_s)).count());
}

auto change_counter(counted_value& value, const event_rules& rules, const rule_step& step) -> bool {
  return add_to(std::get<counted_hash>(value.data), rules, step);
}

auto send_counter(const event_rules& rules, const rule_step& step, redis_batch& out) -> std::size_t {
  const event_rule& counter = rules.all()[step.rule];
  const std::string by = amount_text(step.by);
  const auto key = std::string_view(step.key);
  if (counter.half_life_s != 0) {
    const std::string time = counter.time_field();
    const std::int64_t half_life_ms = counter.half_life_s * 1000;
    out.add("EVAL", fading_sum, 1, key, std::string_view(counter.name), std::string_view(time), std::string_view(by),
            std::int64_t{step.at.count()}, half_life_ms);
    return 1;
  }
  out.add(adds_integers(rules, counter) ? "HINCRBY" : "HINCRBYFLOAT", key, std::string_view(counter.name),
          std::string_view(by));
  return 1;
}

auto change_field(counted_value& value, const event_rules& rules, const rule_step& step) -> bool {
  std::get<counted_hash>(value.data).set(rules.all()[step.rule].name, step.text);
  return true;
}

auto send_field(const event_rules& rules, const rule_step& step, redis_batch& out) -> std::size_t {
  out.add("HSET", std::string_view(step.key), std::string_view(rules.all()[step.rule].name),
          std::string_view(step.text));
  return 1;
}

auto change_list(counted_value& value, const event_rules& rules, const rule_step& step) -> bool {
  std::get<counted_list>(value.data).push(step.text, rules.all()[step.rule].max_items);
  return true;
}

auto send_list(const event_rules& rules, const rule_step& step, redis_batch& out) -> std::size_t {
  out.add("LPUSH", std::string_view(step.key), std::string_view(step.text));
  out.add("LTRIM", std::string_view(step.key), 0, static_cast<std::int64_t>(rules.all()[step.rule].max_items) - 1);
  return 2;
}

auto change_set(counted_value& value, const event_rules& rules, const rule_step& step) -> bool {
  const event_rule& rule = rules.all()[step.rule];
  auto& set = std::get<counted_set>(value.data);
  if (rule.action == rule_action::add) return set.add(step.text, rule.max_items);
  set.remove(step.text);
  return true;
}

auto send_set(const event_rules& rules, const rule_step& step, redis_batch& out) -> std::size_t {
  const event_rule& rule = rules.all()[step.rule];
  if (rule.action == rule_action::remove)
    out.add("SREM", std::string_view(step.key), std::string_view(step.text));
  else
    out.add("EVAL", bounded_add, 1, std::string_view(step.key), std::string_view(step.text),
            static_cast<std::int64_t>(rule.max_items));
  return 1;
}

/// Adds or removes a member. After adding, removes members that are too old and members beyond the bound, like the
/// commands of `send_sorted_set`.
auto change_sorted_set(counted_value& value, const event_rules& rules, const rule_step& step) -> bool {
  const event_rule& rule = rules.all()[step.rule];
  auto& set = std::get<counted_sorted_set>(value.data);
  if (rule.action == rule_action::remove) {
    set.remove(step.text);
    return true;
  }
  const auto before = set.find(step.text);
  const bool is_late = rule.score.empty() && before && set.items[*before].score >= step.score;
  if (!is_late) set.set(step.text, step.score);
  if (rule.max_age_s != 0) set.remove_below(oldest_score(rule, step));
  set.keep_highest(rule.max_items);
  return true;
}

auto send_sorted_set(const event_rules& rules, const rule_step& step, redis_batch& out) -> std::size_t {
  const event_rule& rule = rules.all()[step.rule];
  const auto key = std::string_view(step.key);
  if (rule.action == rule_action::remove) {
    out.add("ZREM", key, std::string_view(step.text));
    return 1;
  }
  const std::string score = amount_text(step.score);
  if (rule.score.empty())
    out.add("ZADD", key, "GT", std::string_view(score), std::string_view(step.text));
  else
    out.add("ZADD", key, std::string_view(score), std::string_view(step.text));
  if (rule.max_age_s != 0) {
    const std::string end = "(" + amount_text(oldest_score(rule, step));
    out.add("ZREMRANGEBYSCORE", key, "-inf", std::string_view(end));
  }
  out.add("ZREMRANGEBYRANK", key, 0, -static_cast<std::int64_t>(rule.max_items) - 1);
  return rule.max_age_s != 0 ? 3 : 2;
}

constexpr std::array table{
    step_kind{.kind = rule_kind::counter,
              .table = "counter",
              .holds = record_kind::hash,
              .change = change_counter,
              .send = send_counter},
    step_kind{.kind = rule_kind::field,
              .table = "field",
              .holds = record_kind::hash,
              .change = change_field,
              .send = send_field},
    step_kind{.kind = rule_kind::list,
              .table = "list",
              .holds = record_kind::text_list,
              .change = change_list,
              .send = send_list},
    step_kind{
        .kind = rule_kind::set, .table = "set", .holds = record_kind::set, .change = change_set, .send = send_set},
    step_kind{.kind = rule_kind::sorted_set,
              .table = "sorted_set",
              .holds = record_kind::sorted_set,
              .change = change_sorted_set,
              .send = send_sorted_set},
};

/// Converts an empty value to the kind that a rule needs. Returns false if the value has another kind and is not empty.
auto fit(counted_value& value, record_kind kind) -> bool {
  if (value.kind() == kind) return true;
  if (value.count() != 0) return false;
  switch (kind) {
    case record_kind::text_list: value.data = counted_list(); break;
    case record_kind::set: value.data = counted_set(); break;
    case record_kind::sorted_set: value.data = counted_sorted_set(); break;
    default: value.data = counted_hash(); break;
  }
  return true;
}

}  // namespace

auto step_kinds() noexcept -> std::span<const step_kind> { return table; }

auto find_step_kind(rule_kind kind) noexcept -> const step_kind& { return table[static_cast<std::size_t>(kind)]; }

auto apply_step(counted_value& value, const event_rules& rules, const rule_step& step) -> bool {
  const event_rule& rule = rules.all()[step.rule];
  const step_kind& kind = find_step_kind(rule.kind);
  if (!fit(value, kind.holds) || !kind.change(value, rules, step)) return false;
  if (rule.action == rule_action::remove) return true;
  // If the rule has a window, sets the expiry only if there is no expiry yet, like EXPIRE NX. If the rule has an idle
  // time, always sets the expiry, like EXPIRE.
  if (rule.window_s != 0 && value.ends.count() == 0) value.ends = step.received + std::chrono::seconds(rule.window_s);
  if (rule.idle_s != 0) value.ends = step.received + std::chrono::seconds(rule.idle_s);
  return true;
}

auto add_commands(const event_rules& rules, const rule_step& step, redis_batch& out) -> std::size_t {
  const event_rule& rule = rules.all()[step.rule];
  const std::size_t replies = find_step_kind(rule.kind).send(rules, step, out);
  if (rule.window_s != 0) out.add("EXPIRE", std::string_view(step.key), rule.window_s, "NX");
  if (rule.idle_s != 0) out.add("EXPIRE", std::string_view(step.key), rule.idle_s);
  return rule.window_s != 0 || rule.idle_s != 0 ? replies + 1 : replies;
}

}  // namespace rankd
