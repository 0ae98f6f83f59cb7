// rankd/server/events/counter_writer.cpp: sends the steps of rules to Redis as batches of commands.
#include <rankd/server/events/counter_writer.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/server/events/step_kinds.hpp>

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

/// Returns the commands of some steps of one endpoint, and the number of replies of each step.
auto make_commands(const event_rules& rules, const std::vector<const rule_step*>& steps, braid::redis_batch& out)
    -> std::vector<std::size_t> {
  std::vector<std::size_t> replies;
  for (const rule_step* step : steps) replies.push_back(add_commands(rules, *step, out));
  return replies;
}

}  // namespace

/// The connections to Redis, by endpoint. These connections are used only on the loop.
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

  /// Sends the commands for some steps. Returns the number of steps that Redis has applied, and the reason why it did
  /// not apply the others.
  auto write(std::size_t endpoint, const event_rules& rules, const std::vector<const rule_step*>& steps)
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
  /// Returns the server's own message if there is one, or else the message of the error.
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
  for (const event_rule& each : rules.all()) {
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

void counter_writer::add(std::vector<rule_step> steps) {
  std::erase_if(steps, [this](const rule_step& each) { return !servers_.contains(rules_->all()[each.rule].endpoint); });
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

auto counter_writer::take() -> std::vector<rule_step> {
  const std::scoped_lock lock(mutex_);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), steps_at_once));
  std::vector<rule_step> out(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  return out;
}

void counter_writer::settle(std::size_t written, std::size_t lost, std::string_view reason) {
  {
    const std::scoped_lock lock(mutex_);
    counts_.written += written;
    counts_.lost += lost;
  }
  if (lost == 0) {
    is_reported_ = false;
  } else if (!std::exchange(is_reported_, true)) {
    log_.note(log_level::warning, "counters_failed", {{"lost", static_cast<std::int64_t>(lost)}, {"message", reason}});
  }
}

/// Writes batches until the writer ends. Waits after a batch that is not full, so that an idle server sends few
/// batches.
auto counter_writer::work() -> braid::task<void> {
  connections all(runtime_->io(), servers_);
  for (;;) {
    const bool was_ending = is_ending();
    std::vector<rule_step> taken;
    std::size_t unsettled = 0;
    try {
      taken = take();
      unsettled = taken.size();
      std::map<std::size_t, std::vector<const rule_step*>> by_endpoint;
      for (const rule_step& each : taken) by_endpoint[rules_->all()[each.rule].endpoint].push_back(&each);
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
