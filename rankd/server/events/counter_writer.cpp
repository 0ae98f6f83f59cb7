// rankd/server/events/counter_writer.cpp: sends steps of counters as batches of commands.
#include <rankd/server/events/counter_writer.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/server/events/counter_sums.hpp>

#include <braid/base/arena.hpp>
#include <braid/coro/bridge.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_cluster.hpp>
#include <braid/net/redis_connection.hpp>

#include <algorithm>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace rankd {
namespace {

constexpr std::size_t steps_at_once = 1'000;
constexpr std::chrono::milliseconds between_batches{20};
constexpr std::chrono::seconds last_words{1};

/// The script that adds to a decaying sum. KEYS[1] is the hash. ARGV contains its field, the field with the time, the
/// amount, the time, and the half-life; the last two are in milliseconds. The amount of a late event is decayed to the
/// time of the sum. The script is one command, so that no other server writes between its read and its write.
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

void add_sum(const event_rules& rules, const event_counter& counter, const counter_step& step,
             braid::redis_batch& out) {
  const std::string by = amount_text(step.by);
  const auto key = std::string_view(step.key);
  if (counter.half_life_s != 0) {
    const std::string time = counter.time_field();
    const std::int64_t half_life_ms = counter.half_life_s * 1000;
    out.add("EVAL", fading_sum, 1, key, std::string_view(counter.name), std::string_view(time), std::string_view(by),
            std::int64_t{step.at.count()}, half_life_ms);
    return;
  }
  out.add(adds_integers(rules, counter) ? "HINCRBY" : "HINCRBYFLOAT", key, std::string_view(counter.name),
          std::string_view(by));
}

/// Returns the commands for some steps of one endpoint, and the number of replies to each step.
auto make_commands(const event_rules& rules, const std::vector<const counter_step*>& steps, braid::redis_batch& out)
    -> std::vector<std::size_t> {
  std::vector<std::size_t> replies;
  for (const counter_step* step : steps) {
    const event_counter& counter = rules.counters()[step->counter];
    const bool ends = counter.window_s != 0 || counter.idle_s != 0;
    add_sum(rules, counter, *step, out);
    if (counter.window_s != 0) out.add("EXPIRE", std::string_view(step->key), counter.window_s, "NX");
    if (counter.idle_s != 0) out.add("EXPIRE", std::string_view(step->key), counter.idle_s);
    replies.push_back(ends ? 2 : 1);
  }
  return replies;
}

}  // namespace

/// The connections to Redis, by endpoint. Used only on the loop.
class counter_writer::connections {
 public:
  connections(braid::loop& loop, const std::map<std::size_t, redis_address>& servers) {
    for (const auto& [endpoint, server] : servers) {
      if (server.is_cluster())
        clusters_.emplace(endpoint, std::make_unique<braid::redis_cluster>(loop, server.as_cluster()));
      else
        single_.emplace(endpoint, std::make_unique<braid::redis_connection>(loop, server));
    }
  }

  /// Writes steps. Returns the number of steps that Redis has applied, and the reason for the first failure.
  auto write(std::size_t endpoint, const event_rules& rules, const std::vector<const counter_step*>& steps)
      -> braid::task<std::pair<std::size_t, std::string>> {
    braid::arena memory;
    braid::redis_batch batch;
    const std::vector<std::size_t> replies = make_commands(rules, steps, batch);
    braid::result<std::span<const braid::resp_value>> got;
    std::string why;
    if (const auto cluster = clusters_.find(endpoint); cluster != clusters_.end()) {
      auto running = cluster->second->run(batch, memory);
      got = co_await std::move(running);
      if (!got) why = find_reason(got.error(), *cluster->second);
    } else {
      braid::redis_connection& redis = *single_.at(endpoint);
      got = co_await redis.run(batch, memory);
      if (!got) why = find_reason(got.error(), redis);
    }
    if (!got) co_return std::pair(std::size_t{0}, std::move(why));
    std::size_t written = 0;
    for (std::size_t step = 0, at = 0; step < replies.size(); at += replies[step++]) {
      const braid::resp_value& reply = (*got)[at];
      if (!reply.is_error())
        ++written;
      else if (why.empty())
        why = reply.text();
    }
    co_return std::pair(written, std::move(why));
  }

 private:
  /// Returns the server's own message, if there is one; otherwise the message of the error.
  static auto find_reason(std::error_code error, const auto& redis) -> std::string {
    const std::string_view text = redis.refusal_of(error);
    return text.empty() ? error.message() : std::string(text);
  }

  std::map<std::size_t, std::unique_ptr<braid::redis_connection>> single_;
  std::map<std::size_t, std::unique_ptr<braid::redis_cluster>> clusters_;
};

auto counter_writer::start(const event_rules& rules, const registries& declared, serve_log log)
    -> braid::checked<std::unique_ptr<counter_writer>> {
  std::unique_ptr<counter_writer> made(new counter_writer(rules, log));
  for (const event_counter& each : rules.counters()) {
    if (made->servers_.contains(each.endpoint)) continue;
    const endpoint_entry& endpoint = declared.endpoints()[each.endpoint];
    if (std::holds_alternative<embedded_resolver>(endpoint.resolver)) continue;
    auto server = parse_redis_options(endpoint);
    if (!server) return std::unexpected(std::move(server.error()));
    made->servers_.emplace(each.endpoint, std::move(*server));
  }
  if (made->servers_.empty()) return nullptr;
  auto on = braid::runtime::create({.workers = 1, .name = "counters", .shape = braid::runtime_shape::merged});
  if (!on) return std::unexpected(no_runtime(on.error()));
  made->runtime_ = std::move(*on);
  made->works_.emplace(braid::spawn(*made->runtime_, made->work()));
  return made;
}

counter_writer::~counter_writer() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  if (works_) static_cast<void>(works_->wait_for(last_words));
  if (runtime_) static_cast<void>(runtime_->shutdown(braid::shutdown_mode::drain));  // stops a call that still waits
}

void counter_writer::add(std::vector<counter_step> steps) {
  std::erase_if(steps, [this](const counter_step& each) {
    return !servers_.contains(rules_->counters()[each.counter].endpoint);
  });
  const std::scoped_lock lock(mutex_);
  if (waiting_.size() + steps.size() > max_waiting) {
    counts_.lost += steps.size();
    return;
  }
  const std::size_t before = waiting_.size();
  try {
    std::ranges::move(steps, std::back_inserter(waiting_));
  } catch (const std::bad_alloc&) {
    counts_.lost += steps.size() - (waiting_.size() - before);
  }
}

auto counter_writer::counts() const -> counter_counts {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

auto counter_writer::is_ending() const -> bool {
  const std::scoped_lock lock(mutex_);
  return ending_;
}

auto counter_writer::take() -> std::vector<counter_step> {
  const std::scoped_lock lock(mutex_);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), steps_at_once));
  std::vector<counter_step> out(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  return out;
}

void counter_writer::settle(std::size_t written, std::size_t lost, std::string_view why) {
  {
    const std::scoped_lock lock(mutex_);
    counts_.written += written;
    counts_.lost += lost;
  }
  if (lost == 0) {
    is_reported_ = false;
  } else if (!std::exchange(is_reported_, true)) {
    log_.note(log_level::warning, "counters_failed", {{"lost", static_cast<std::int64_t>(lost)}, {"message", why}});
  }
}

/// Writes batches until the end. Waits after a batch that is not full, so that an idle server sends few batches.
auto counter_writer::work() -> braid::task<void> {
  connections all(runtime_->io(), servers_);
  for (;;) {
    const bool was_ending = is_ending();
    std::vector<counter_step> taken;
    std::size_t unsettled = 0;
    try {
      taken = take();
      unsettled = taken.size();
      std::map<std::size_t, std::vector<const counter_step*>> by_endpoint;
      for (const counter_step& each : taken) by_endpoint[rules_->counters()[each.counter].endpoint].push_back(&each);
      for (const auto& [endpoint, steps] : by_endpoint) {
        auto writing = all.write(endpoint, *rules_, steps);
        const auto [written, why] = co_await std::move(writing);
        settle(written, steps.size() - written, why);
        unsettled -= steps.size();
      }
    } catch (const std::bad_alloc&) {
      settle(0, unsettled, "there is no memory");  // later ones are tried
    }
    if (taken.empty() && was_ending) co_return;
    if (taken.size() < steps_at_once && !was_ending) co_await braid::sleep_for(between_batches);
  }
}

}  // namespace rankd
