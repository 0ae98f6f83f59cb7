// src/net/redis_cluster_state.cpp: sends commands to the nodes of a cluster, and follows redirections until there is a
// reply.
#include "redis_cluster_state.hpp"

#include <braid/base/detail/after.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <algorithm>
#include <bitset>
#include <functional>
#include <ranges>
#include <utility>

namespace braid::detail {
namespace {

/// Returns `read` if the batch declares the expected type of its replies, because such a batch contains only reads.
/// Returns `write` otherwise.
auto choose_access(const redis_batch& batch) noexcept -> redis_access {
  return batch.expected() == redis_replies::any ? redis_access::write : redis_access::read;
}

/// Returns whether a command in `sent` is still unanswered although a later command for the same slot is answered. If
/// both are writes, they would be executed in the wrong order. `sent` and `open` contain indexes of commands in
/// ascending order; `open` contains the unanswered commands. `slots` contains the slot of each command.
auto is_out_of_order(std::span<const std::uint16_t> slots, std::span<const std::uint32_t> sent,
                     std::span<const std::uint32_t> open) -> bool {
  std::bitset<redis_slots> has_later;
  for (const std::uint32_t i : sent | std::views::reverse) {
    const std::uint16_t slot = slots[i];
    if (!std::ranges::binary_search(open, i))
      has_later.set(slot);
    else if (has_later.test(slot))
      return true;
  }
  return false;
}

/// The command ASKING, which is sent in the same batch before a command that follows an ASK redirection.
constexpr std::string_view asking_command = "*1\r\n$6\r\nASKING\r\n";

}  // namespace

/// A guard that exists while a task waits for a node. If a stop interrupts the wait, the destructor records whether the
/// node was silent.
class redis_cluster_state::watch {
 public:
  watch(redis_cluster_state& cluster, const place& asked) noexcept : cluster_(&cluster), asked_(asked) {}
  watch(const watch&) = delete;
  auto operator=(const watch&) -> watch& = delete;
  ~watch() {
    if (!is_over_) cluster_->left(asked_);
  }
  void over() noexcept { is_over_ = true; }

 private:
  redis_cluster_state* cluster_;
  place asked_;
  bool is_over_ = false;
};

redis_cluster_state::redis_cluster_state(loop& loop, redis_cluster::options options)
    : loop_(&loop), options_(std::move(options)) {
  for (const auto& each : options_.nodes) static_cast<void>(node_at(each.host, each.port));
}

void redis_cluster_state::close() noexcept {
  is_closed_ = true;
  for (const auto& each : nodes_) {
    if (each->connection) each->connection->close();
    if (each->replica_connection) each->replica_connection->close();
  }
}

auto redis_cluster_state::refusal_of(std::error_code error) const noexcept -> std::string_view {
  for (const auto& node : nodes_)
    for (const auto* each : {&node->connection, &node->replica_connection})
      if (const std::string_view text = *each ? (*each)->refusal_of(error) : std::string_view(); !text.empty())
        return text;
  return {};
}

auto redis_cluster_state::make_deadline(duration timeout) const noexcept -> time_point {
  return after(loop_->now(), timeout == duration::zero() ? options_.connection.request_timeout : timeout);
}

/// Returns the time until the deadline as a timeout for a call. The timeout is at least one unit of time, because a
/// timeout of zero means the default timeout.
auto redis_cluster_state::remaining(time_point deadline) const noexcept -> duration {
  return deadline == time_point::max() ? duration::max() : std::max(deadline - loop_->now(), duration(1));
}

/// Returns the time that a node may take for a reply. A replica gets half of the remaining time, so that the command
/// can be sent to its master afterwards.
auto redis_cluster_state::time_for(const place& asked, time_point deadline, time_point limit) const noexcept
    -> duration {
  const duration all = remaining(deadline);
  if (!asked.is_replica || limit == time_point::max()) return all;
  return std::min(all, std::max(remaining(limit) / 2, duration(1)));
}

// The functions below manage the nodes of the cluster.

auto redis_cluster_state::find(std::string_view host, std::uint16_t port) const noexcept -> node_ptr {
  const auto same = [&](const auto& each) { return each->port == port && each->host == host; };
  const auto found = std::ranges::find_if(nodes_, same);
  return found == nodes_.end() ? nullptr : *found;
}

auto redis_cluster_state::node_at(std::string_view host, std::uint16_t port) -> node_ptr {
  if (node_ptr known = find(host, port)) return known;
  return nodes_.emplace_back(std::make_shared<redis_node>(std::string(host), port));
}

/// Stores the new owner of a slot. Marks all tracked keys as changed, because the former owner does not report later
/// changes.
void redis_cluster_state::learn(std::uint16_t slot, redis_node& owner) noexcept {
  const redis_node* const former = std::exchange(owners_[slot], &owner);
  if (former != nullptr && former != &owner && options_.connection.tracker != nullptr)
    options_.connection.tracker->all_changed();
}

/// Removes the nodes that are not in the new map. A call that waits for such a node keeps the node until the replies
/// have arrived; the unsent commands of the call are sent to another node.
void redis_cluster_state::keep_only(const std::vector<node_ptr>& in_map) {
  const std::vector<node_ptr> known(nodes_);
  std::erase_if(nodes_, [&](const node_ptr& each) { return std::ranges::find(in_map, each) == in_map.end(); });
  for (const node_ptr& each : known) {
    if (std::ranges::find(nodes_, each) != nodes_.end()) continue;
    if (each->connection) each->connection->retire();
    if (each->replica_connection) each->replica_connection->retire();
  }
}

auto redis_cluster_state::make_connection(const redis_node& node, bool replica)
    -> std::unique_ptr<redis_shared_connection> {
  redis_options options = options_.connection;
  options.host = node.host;
  options.port = node.port;
  options.socket_path = node.host.starts_with('/') ? node.host : std::string();
  options.database = 0;
  options.reads_from_replica = replica;
  if (options.backoff.seed != 0) options.backoff.seed += node.port;
  auto made = std::make_unique<redis_shared_connection>(*loop_, std::move(options));
  if (is_closed_) made->close();
  return made;
}

auto redis_cluster_state::find_connection(redis_node& node) -> redis_shared_connection& {
  if (!node.connection) node.connection = make_connection(node, false);
  return *node.connection;
}

auto redis_cluster_state::find_replica_connection(redis_node& node) -> redis_shared_connection& {
  if (!node.replica_connection) node.replica_connection = make_connection(node, true);
  return *node.replica_connection;
}

auto redis_cluster_state::choose(const way& route) -> place {
  if (route.target != nullptr) return {.connection = &find_connection(*route.target), .node = route.target};
  redis_node* const owner = owners_[route.slot];
  return owner == nullptr ? place() : place_for(*owner, route);
}

/// Chooses the master or, for reads, one of its replicas, round robin. A replica must be connected, or its state must
/// still be unknown. All replicas try to connect in the background, so a replica that recovers is used again.
auto redis_cluster_state::place_for(redis_node& owner, const way& route) -> place {
  const bool may_be_replica =
      options_.reads == redis_cluster::reads::replicas && route.access == redis_access::read && !route.masters_only;
  place untried;
  for (std::size_t left = may_be_replica ? owner.replicas.size() : 0; left > 0; --left) {
    redis_node& replica = *owner.replicas[owner.next_replica++ % owner.replicas.size()];
    const place found{
        .connection = &find_replica_connection(replica), .node = replica.shared_from_this(), .is_replica = true};
    if (loop_->now() < replica.avoided_until) continue;
    if (found.connection->status() == redis_shared_connection::state::ready) return found;
    if (untried.connection == nullptr && !found.connection->last_error()) untried = found;
  }
  return untried.connection != nullptr ? untried
                                       : place{.connection = &find_connection(owner), .node = owner.shared_from_this()};
}

void redis_cluster_state::avoid(const place& replica) noexcept {
  // docs/design/constants.md gives the reason for this value.
  constexpr duration rest = std::chrono::seconds(1);
  if (replica.is_replica) replica.node->avoided_until = after(loop_->now(), rest);
}

/// Called if the task that waited for the node `asked` was stopped. Avoids the node for a while, unless the node has
/// just answered other tasks.
void redis_cluster_state::left(const place& asked) noexcept {
  // docs/design/constants.md gives the reason for this value.
  constexpr duration doubtful = std::chrono::milliseconds(20);
  if (asked.connection->status() == redis_shared_connection::state::ready && asked.connection->silence() < doubtful)
    return;
  is_stale_ = true;
  avoid(asked);
}

// The functions below send one command.

/// Decides from the reply whether a command has ended, is sent again at once, or is sent again after a pause.
/// Errors: too_many_hops.
auto redis_cluster_state::judge(way& route, const resp_value& reply, const place& from) -> result<verdict> {
  if (!reply.is_error()) return verdict::over;
  const redis_errc code = parse_redis_error(reply.text());
  if (is_transient(code)) {
    is_stale_ = is_stale_ || code == redis_errc::cluster_down;
    route.masters_only = true;
    avoid(from);
    return verdict::wait;
  }
  const auto to = parse_redis_redirection(reply.text());
  if (!to) return verdict::over;
  ++redirections_;
  if (++route.hops > options_.max_hops) return fail(redis_errc::too_many_hops);
  route.slot = to->slot;
  route.target = node_at(to->host.empty() ? std::string_view(from.node->host) : to->host, to->port);
  route.asking = code == redis_errc::ask;
  if (!route.asking) {
    learn(to->slot, *route.target);
    is_stale_ = true;
  }
  return verdict::again;
}

/// Decides from the error whether a command without a reply has ended, is sent again at once, or is sent again after a
/// pause.
auto redis_cluster_state::judge(way& route, std::error_code error, const place& from) noexcept -> verdict {
  const bool has_left = error == errc::closed && !is_closed_;  // from the map, before the command was sent
  // If an allocation has failed, the command may have been sent, and only its reply was lost. So a write is never
  // repeated after this error.
  const bool was_sent = error == redis_errc::connection_lost || error.category() == resp_category() ||
                        error == redis_errc::unexpected_reply || error == std::errc::not_enough_memory;
  const bool is_final = error.category() == make_error_code(errc::closed).category() ||
                        (error.category() == redis_category() && error != redis_errc::loading &&
                         error != redis_errc::too_many_clients && !was_sent) ||
                        (was_sent && route.access == redis_access::write);
  const bool is_late_replica = from.is_replica && error == errc::deadline_exceeded;
  if (is_late_replica) avoid(from);
  is_stale_ = true;
  route.target = nullptr;
  route.asking = false;
  route.masters_only = true;
  if (is_late_replica || has_left) return verdict::again;
  return is_final ? verdict::over : verdict::wait;
}

auto redis_cluster_state::pause(way& route, time_point deadline) -> task<void> {
  // docs/design/constants.md gives the reason for this value.
  constexpr std::uint32_t max_doublings = 5;
  const duration span = std::chrono::milliseconds(2) * (1U << std::min(route.waits++, max_doublings));
  co_await sleep_until(std::min(deadline, after(loop_->now(), span)));
}

auto redis_cluster_state::send(std::string_view command, redis_access access, arena& memory, time_point deadline)
    -> task<result<resp_value>> {
  const scope& around = co_await this_scope();
  const time_point limit = std::min(deadline, around.deadline());
  way route{.slot = find_redis_slot(find_redis_key(command)), .access = access};
  std::error_code why = errc::deadline_exceeded;
  while (loop_->now() < deadline) {
    co_await refresh_if_stale(deadline);
    const place asked = choose(route);
    verdict then = verdict::wait;
    if (asked.connection == nullptr) {
      if (is_closed_) co_return fail(errc::closed);
      take_reason(why, map_error_, redis_access::read);
      if (is_refused_) co_return fail(why);
      is_stale_ = true;
    } else {
      redis_batch sent;
      if (route.asking) sent.add_encoded(asking_command);
      sent.add_encoded(command);
      watch looking(*this, asked);
      redis_batch_call call(*asked.connection, sent, memory, time_for(asked, deadline, limit));
      const auto got = co_await call;
      looking.over();
      const auto judged = got ? judge(route, got->back(), asked) : result<verdict>(judge(route, got.error(), asked));
      if (!judged) co_return fail(judged.error());
      then = *judged;
      if (then == verdict::over && got) co_return got->back();
      if (!got) take_reason(why, find_reason(got.error(), *asked.connection), access);
      if (got && then == verdict::wait) why = parse_redis_error(got->back().text());
      if (then == verdict::over) co_return fail(why);
    }
    if (then == verdict::wait) co_await pause(route, deadline);
  }
  co_return fail(why);
}

// The functions below send batches.

/// The commands of a batch that are sent to the same node.
struct redis_cluster_state::part {
  const redis_batch* batch = nullptr;
  std::span<std::uint16_t> slots;  // the slots of all commands of the batch
  std::span<resp_value> replies;
  arena* memory = nullptr;
  time_point limit;  // the deadline of the call or of the scope
  place asked;
  std::vector<std::uint32_t> commands;  // the unanswered commands; empty at the end if all are answered
  std::error_code error;                // the error of the whole batch
  std::error_code why;                  // the last reason why a command is not answered
  bool waits = false;                   // a pause is needed before the commands are sent again
  bool is_sent_on = false;              // some commands follow a redirection
};

void redis_cluster_state::part_failed(part& group, std::error_code error, const place& asked) {
  way lost{.access = choose_access(*group.batch)};
  const verdict then = judge(lost, error, asked);
  group.why = find_reason(error, *asked.connection);
  if (then == verdict::over) group.error = group.why;
  group.waits = group.waits || then == verdict::wait;
}

auto redis_cluster_state::run_part(part& group, time_point deadline) -> task<void> {
  redis_batch sent(group.batch->expected());
  for (const std::uint32_t i : group.commands) sent.add_encoded(group.batch->bytes_of(i, 1));
  watch looking(*this, group.asked);
  redis_batch_call call(*group.asked.connection, sent, *group.memory, time_for(group.asked, deadline, group.limit));
  const auto got = co_await call;
  looking.over();
  if (!got) co_return part_failed(group, got.error(), group.asked);
  const std::vector<std::uint32_t> commands = std::exchange(group.commands, {});
  std::vector<std::pair<node_ptr, std::vector<std::uint32_t>>> elsewhere;  // redirected commands by target
  for (std::size_t k = 0; k < commands.size(); ++k) {
    const std::uint32_t i = commands[k];
    if (!(*got)[k].is_error()) {
      group.replies[i] = (*got)[k];
      continue;
    }
    way found{.slot = group.slots[i]};
    const auto judged = judge(found, (*got)[k], group.asked);
    group.slots[i] = found.slot;
    if (!judged) group.error = judged.error();
    if (!judged) co_return;
    if (*judged == verdict::over) {
      group.replies[i] = (*got)[k];
    } else if (found.asking) {
      auto at = std::ranges::find(elsewhere, found.target, &decltype(elsewhere)::value_type::first);
      if (at == elsewhere.end()) at = elsewhere.insert(at, {found.target, {}});
      at->second.push_back(i);
    } else {
      group.commands.push_back(i);
      group.is_sent_on = group.is_sent_on || *judged == verdict::again;
      group.waits = group.waits || *judged == verdict::wait;
      if (*judged == verdict::wait) group.why = parse_redis_error((*got)[k].text());
    }
  }
  for (auto& [target, those] : elsewhere) {
    auto running = run_asking(group, target, std::move(those), deadline);
    co_await std::move(running);
  }
  if (group.commands.empty() || choose_access(*group.batch) != redis_access::write) co_return;
  std::ranges::sort(group.commands);
  if (!group.error && is_out_of_order(group.slots, commands, group.commands)) group.error = redis_errc::out_of_order;
}

/// Sends commands to the node that their slot is being moved to (ASK redirection). Commands that must be repeated are
/// added to `of.commands`.
auto redis_cluster_state::run_asking(part& group, node_ptr target, std::vector<std::uint32_t> commands,
                                     time_point deadline) -> task<void> {
  const place there{.connection = &find_connection(*target), .node = target};
  redis_batch sent;
  for (const std::uint32_t i : commands) {
    sent.add_encoded(asking_command);
    sent.add_encoded(group.batch->bytes_of(i, 1));
  }
  watch looking(*this, there);
  redis_batch_call call(*there.connection, sent, *group.memory, remaining(deadline));
  const auto got = co_await call;
  looking.over();
  if (!got) {
    group.commands.insert(group.commands.end(), commands.begin(), commands.end());
    co_return part_failed(group, got.error(), there);
  }
  for (std::size_t k = 0; k < commands.size(); ++k) {
    const resp_value& reply = (*got)[2 * k + 1];
    way found{.slot = group.slots[commands[k]]};
    const auto judged = judge(found, reply, there);
    group.slots[commands[k]] = found.slot;
    if (!judged) group.error = judged.error();
    if (!judged) co_return;
    if (*judged == verdict::over) {
      group.replies[commands[k]] = reply;
      continue;
    }
    group.commands.push_back(commands[k]);
    group.is_sent_on = group.is_sent_on || *judged == verdict::again;
    group.waits = group.waits || *judged == verdict::wait;
    group.why = parse_redis_error(reply.text());
  }
}

auto redis_cluster_state::run(const redis_batch& batch, arena& memory, time_point deadline)
    -> task<result<std::span<const resp_value>>> {
  if (!batch.is_shareable()) co_return fail(redis_errc::not_shared);
  if (batch.has_transaction()) co_return fail(redis_errc::no_transactions);
  const scope& around = co_await this_scope();
  const std::span<resp_value> replies = memory.filled(batch.size(), resp_value());
  std::vector<std::uint32_t> open(batch.size());
  std::vector<std::uint16_t> slots(batch.size());  // the slots of the keys, later those of redirections
  for (std::uint32_t i = 0; i < open.size(); ++i) {
    open[i] = i;
    slots[i] = find_redis_slot(find_redis_key(batch.bytes_of(i, 1)));
  }
  const part empty{.batch = &batch,
                   .slots = slots,
                   .replies = replies,
                   .memory = &memory,
                   .limit = std::min(deadline, around.deadline()),
                   .asked = {},
                   .commands = {},
                   .error = {},
                   .why = {}};
  way all{.access = choose_access(batch)};
  std::error_code why = errc::deadline_exceeded;
  while (!open.empty()) {
    if (loop_->now() >= deadline) co_return fail(why);
    if (is_closed_) co_return fail(errc::closed);
    co_await refresh_if_stale(deadline);
    std::vector<part> parts;
    std::vector<const redis_node*> owners;  // the owner of each part
    std::vector<std::uint32_t> unknown;
    for (const std::uint32_t i : open) {
      redis_node* const owner = owners_[slots[i]];
      if (owner == nullptr) {
        unknown.push_back(i);
        continue;
      }
      const auto at = static_cast<std::size_t>(std::ranges::find(owners, owner) - owners.begin());
      if (at == owners.size()) {
        owners.push_back(owner);
        parts.push_back(empty);
        parts.back().asked = place_for(*owner, all);
      }
      parts[at].commands.push_back(i);
    }
    if (!unknown.empty()) take_reason(why, map_error_, redis_access::read);
    if (!unknown.empty() && is_refused_) co_return fail(why);
    auto body = [&](scope& tasks) -> task<void> {
      for (part& each : parts) tasks.spawn(run_part(each, deadline));
      co_return;
    };
    co_await with_scope(std::ref(body));
    bool waits = !unknown.empty();
    bool is_sent_on = false;
    open = std::move(unknown);
    for (const part& each : parts) {
      if (each.why) take_reason(why, each.why, all.access);
      if (each.error) take_reason(why, each.error, all.access);
      if (each.error) co_return fail(why);
      open.insert(open.end(), each.commands.begin(), each.commands.end());
      waits = waits || each.waits;
      is_sent_on = is_sent_on || each.is_sent_on;
    }
    std::ranges::sort(open);  // in the order of the batch
    if (is_sent_on && ++all.hops > options_.max_hops) co_return fail(redis_errc::too_many_hops);
    is_stale_ = is_stale_ || !open.empty();
    all.masters_only = all.masters_only || !open.empty();
    if (waits) co_await pause(all, deadline);
  }
  co_return replies;
}

}  // namespace braid::detail
