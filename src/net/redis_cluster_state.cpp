// src/net/redis_cluster_state.cpp: from node to node until there is a reply.
#include "redis_cluster_state.hpp"

#include <braid/coro/detail/after.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

namespace braid::detail {
namespace {

/// Takes a counted text from the begin of `rest`, which `write_command` has written.
auto take_word(std::string_view& rest) noexcept -> std::string_view {
  std::size_t size = 0;
  const char* const end = std::from_chars(rest.data() + 1, rest.data() + rest.size(), size).ptr;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 2);
  const std::string_view word = rest.substr(0, size);
  rest.remove_prefix(size + 2);
  return word;
}

/// The word behind the name of an encoded command; empty where there is none.
auto key_of(std::string_view command) noexcept -> std::string_view {
  command.remove_prefix(command.find('\n') + 1);
  static_cast<void>(take_word(command));
  return command.empty() ? std::string_view() : take_word(command);
}

auto is_transient(redis_errc code) noexcept -> bool {
  return code == redis_errc::try_again || code == redis_errc::cluster_down || code == redis_errc::loading ||
         code == redis_errc::master_down;
}

}  // namespace

redis_cluster_state::redis_cluster_state(loop& on, redis_cluster_options options)
    : on_(&on), options_(std::move(options)) {
  for (const auto& each : options_.nodes) node_at(each.host, each.port);
}

void redis_cluster_state::close() noexcept {
  is_closed_ = true;
  for (const auto& each : nodes_) {
    if (each->link) each->link->close();
    if (each->replica_link) each->replica_link->close();
  }
}

auto redis_cluster_state::deadline_of(duration timeout) const noexcept -> time_point {
  return after(on_->now(), timeout == duration::zero() ? options_.connection.request_timeout : timeout);
}

/// Until the deadline, as a call takes it: for one that has just passed not zero, which would mean something else.
auto redis_cluster_state::remaining(time_point deadline) const noexcept -> duration {
  return deadline == time_point::max() ? duration::max() : std::max(deadline - on_->now(), duration(1));
}

// Nodes

auto redis_cluster_state::node_at(std::string_view host, std::uint16_t port) -> redis_node& {
  const auto same = [&](const auto& each) { return each->port == port && each->host == host; };
  if (const auto found = std::ranges::find_if(nodes_, same); found != nodes_.end()) return **found;
  nodes_.push_back(std::make_unique<redis_node>());
  nodes_.back()->host = host;
  nodes_.back()->port = port;
  return *nodes_.back();
}

auto redis_cluster_state::make_link(const redis_node& node, bool replica) -> std::unique_ptr<redis_link> {
  redis_options options = options_.connection;
  options.host = node.host;
  options.port = node.port;
  options.socket_path = node.host.starts_with('/') ? node.host : std::string();
  options.database = 0;
  options.reads_from_replica = replica;
  if (options.backoff.seed != 0) options.backoff.seed += node.port;
  auto made = std::make_unique<redis_link>(*on_, std::move(options));
  if (is_closed_) made->close();
  return made;
}

auto redis_cluster_state::link_of(redis_node& node) -> redis_link& {
  if (!node.link) node.link = make_link(node, false);
  return *node.link;
}

auto redis_cluster_state::replica_link_of(redis_node& node) -> redis_link& {
  if (!node.replica_link) node.replica_link = make_link(node, true);
  return *node.replica_link;
}

/// Null where nobody is known to own the slot.
auto redis_cluster_state::choose(const way& of) -> redis_link* {
  if (of.target != nullptr) return &link_of(*of.target);
  redis_node* const owner = owners_[of.slot];
  if (owner == nullptr) return nullptr;
  const bool from_replica = options_.reads == redis_reads::replicas && of.access == redis_access::read &&
                            !of.masters_only && !owner->replicas.empty();
  if (!from_replica) return &link_of(*owner);
  return &replica_link_of(*owner->replicas[owner->next_replica++ % owner->replicas.size()]);
}

// The map of slots

/// Takes what CLUSTER SLOTS has answered. False: it is no such answer, and nothing was learnt.
auto redis_cluster_state::learn(const resp_value& slots, const redis_node& from) -> bool {
  struct range {
    std::uint16_t first;
    std::uint16_t last;
    std::vector<redis_node*> nodes;
  };
  const auto number = [](const resp_value& value, std::int64_t end) -> std::int64_t {
    const bool good = value.type() == resp_type::integer && value.integer() >= 0 && value.integer() < end;
    return good ? value.integer() : -1;
  };
  if (slots.type() != resp_type::array || slots.items().empty()) return false;
  std::vector<range> ranges;
  for (const resp_value& each : slots.items()) {
    if (each.type() != resp_type::array || each.items().size() < 3) return false;
    const auto parts = each.items();
    const auto first = number(parts[0], redis_slots);
    const auto last = number(parts[1], redis_slots);
    if (first < 0 || last < first) return false;
    range made{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last), {}};
    for (const resp_value& node : parts.subspan(2)) {
      if (node.type() != resp_type::array || node.items().size() < 2) return false;
      const auto port = number(node.items()[1], 65'536);
      if (port <= 0) return false;
      const bool named = node.items()[0].has_text() && !node.items()[0].text().empty();
      const std::string host(named ? node.items()[0].text() : std::string_view(from.host));
      made.nodes.push_back(&node_at(host, static_cast<std::uint16_t>(port)));
    }
    ranges.push_back(std::move(made));
  }
  owners_.fill(nullptr);
  for (const range& each : ranges) {
    redis_node& owner = *each.nodes.front();
    owner.replicas.assign(each.nodes.begin() + 1, each.nodes.end());
    std::fill(owners_.begin() + each.first, owners_.begin() + each.last + 1, &owner);
  }
  return true;
}

/// One at a time asks; the others wait a moment, and see what it has learnt.
auto redis_cluster_state::refresh(time_point deadline) -> task<result<void>> {
  if (is_refreshing_) {
    co_await sleep_for(std::chrono::milliseconds(1));
    co_return result<void>();
  }
  struct guard {
    bool& flag;
    ~guard() { flag = false; }
  } const asked{is_refreshing_};
  is_refreshing_ = true;
  refreshed_ = on_->now();
  redis_batch question;
  question.add("CLUSTER", "SLOTS");
  std::error_code why = redis_errc::cluster_down;
  for (std::size_t left = nodes_.size(); left > 0 && on_->now() < deadline; --left) {
    redis_node& node = *nodes_[next_asked_ % nodes_.size()];
    arena memory;
    redis_batch_call call(link_of(node), question, memory, remaining(std::min(deadline_of({}), deadline)));
    const auto got = co_await call;
    if (got && learn(got->front(), node)) {
      is_stale_ = false;
      co_return result<void>();
    }
    ++next_asked_;  // another one the next time as well
    if (!got) why = got.error();
    if (got && got->front().is_error()) why = redis_error_of(got->front().text());
  }
  co_return fail(why);
}

auto redis_cluster_state::refresh_if_stale(time_point deadline) -> task<void> {
  const bool is_due = refreshed_ == time_point() || on_->now() >= after(refreshed_, options_.refresh_pause);
  if (!is_stale_ || !is_due) co_return;
  task<result<void>> asking = refresh(deadline);
  static_cast<void>(co_await std::move(asking));
}

// One command

/// What a reply means for the way of its command. Errors: too_many_hops.
auto redis_cluster_state::judge(way& of, const resp_value& reply, const redis_node* from) -> result<verdict> {
  if (!reply.is_error()) return verdict::over;
  const redis_errc code = redis_error_of(reply.text());
  if (is_transient(code)) {
    is_stale_ = is_stale_ || code == redis_errc::cluster_down;
    of.masters_only = true;
    return verdict::wait;
  }
  const auto to = redis_redirection_of(reply.text());
  if (!to) return verdict::over;
  ++redirections_;
  if (++of.hops > options_.most_hops) return fail(redis_errc::too_many_hops);
  of.target = &node_at(to->host.empty() && from != nullptr ? std::string_view(from->host) : to->host, to->port);
  of.asking = code == redis_errc::ask;
  if (!of.asking) {
    learn(to->slot, *of.target);
    is_stale_ = true;
  }
  return verdict::again;
}

auto redis_cluster_state::judge(way& of, std::error_code error) noexcept -> verdict {
  const bool was_sent = error == redis_errc::connection_lost || error.category() == resp_category() ||
                        error == redis_errc::unexpected_reply;
  const bool is_final = error.category() == make_error_code(errc::closed).category() ||
                        (error.category() == redis_category() && error != redis_errc::loading && !was_sent) ||
                        (was_sent && of.access == redis_access::write);
  is_stale_ = true;
  of.target = nullptr;
  of.asking = false;
  of.masters_only = true;
  return is_final ? verdict::over : verdict::wait;
}

auto redis_cluster_state::pause(way& of, time_point deadline) -> task<void> {
  constexpr std::uint32_t most_doublings = 5;
  const duration span = std::chrono::milliseconds(2) * (1U << std::min(of.waits++, most_doublings));
  co_await sleep_until(std::min(deadline, after(on_->now(), span)));
}

auto redis_cluster_state::send(std::string_view command, redis_access access, arena& memory, time_point deadline)
    -> task<result<resp_value>> {
  way of{.slot = redis_slot_of(key_of(command)), .access = access};
  std::error_code why = errc::deadline_exceeded;
  while (on_->now() < deadline) {
    co_await refresh_if_stale(deadline);
    redis_link* const link = choose(of);
    verdict then = verdict::wait;
    if (link == nullptr) {
      if (is_closed_) co_return fail(errc::closed);
      is_stale_ = true;
    } else {
      redis_batch sent;
      if (of.asking) sent.add("ASKING");
      sent.add_encoded(command);
      const redis_node* const from = of.target != nullptr ? of.target : owners_[of.slot];
      redis_batch_call call(*link, sent, memory, remaining(deadline));
      const auto got = co_await call;
      const auto judged = got ? judge(of, got->back(), from) : result<verdict>(judge(of, got.error()));
      if (!judged) co_return fail(judged.error());
      then = *judged;
      if (!got) why = got.error();
      if (then == verdict::over && !got) co_return fail(why);
      if (then == verdict::over) co_return got->back();
    }
    if (then == verdict::wait) co_await pause(of, deadline);
  }
  co_return fail(why.category() == redis_category() ? why : make_error_code(errc::deadline_exceeded));
}

// Batches

/// The commands of a batch that one node is asked for.
struct redis_cluster_state::part {
  redis_link* link = nullptr;
  redis_node* node = nullptr;
  std::vector<std::uint32_t> commands;  // those that are not answered yet; empty at the end where all are
  std::error_code error;
};

auto redis_cluster_state::run_part(part& of, const redis_batch& batch, std::span<resp_value> replies, arena& memory,
                                   time_point deadline) -> task<void> {
  redis_batch sent;
  for (const std::uint32_t i : of.commands) sent.add_encoded(batch.bytes_of(i, 1));
  redis_batch_call call(*of.link, sent, memory, remaining(deadline));
  const auto got = co_await call;
  if (!got) {
    way lost;
    if (judge(lost, got.error()) == verdict::over) of.error = got.error();
    co_return;
  }
  for (std::size_t k = 0; k < of.commands.size(); ++k) {
    const std::uint32_t i = of.commands[k];
    const resp_value& reply = (*got)[k];
    const auto code = reply.is_error() ? redis_error_of(reply.text()) : redis_errc::refused;
    if (!is_transient(code) && code != redis_errc::moved && code != redis_errc::ask) {
      replies[i] = reply;
      continue;
    }
    // Few keys move at a time: each finds its way by itself.
    const auto found = co_await send(batch.bytes_of(i, 1), redis_access::write, memory, deadline);
    if (!found) {
      of.error = found.error();
      co_return;
    }
    replies[i] = *found;
  }
  of.commands.clear();
}

auto redis_cluster_state::run(const redis_batch& batch, arena& memory, time_point deadline)
    -> task<result<std::span<const resp_value>>> {
  if (!batch.is_shareable()) co_return fail(redis_errc::not_shared);
  const std::span<resp_value> replies = memory.filled(batch.size(), resp_value());
  std::vector<std::uint32_t> open(batch.size());
  for (std::uint32_t i = 0; i < open.size(); ++i) open[i] = i;
  way waiting;
  while (!open.empty()) {
    if (on_->now() >= deadline) co_return fail(errc::deadline_exceeded);
    if (is_closed_) co_return fail(errc::closed);
    co_await refresh_if_stale(deadline);
    std::vector<part> parts;
    std::vector<std::uint32_t> unknown;
    for (const std::uint32_t i : open) {
      redis_node* const node = owners_[redis_slot_of(key_of(batch.bytes_of(i, 1)))];
      if (node == nullptr) {
        unknown.push_back(i);
        continue;
      }
      auto at = std::ranges::find(parts, node, &part::node);
      if (at == parts.end())
        at = parts.insert(at, part{.link = &link_of(*node), .node = node, .commands = {}, .error = {}});
      at->commands.push_back(i);
    }
    auto body = [&](scope& in) -> task<void> {
      for (part& each : parts) in.spawn(run_part(each, batch, replies, memory, deadline));
      co_return;
    };
    co_await with_scope(std::ref(body));
    open = std::move(unknown);
    for (const part& each : parts) {
      if (each.error) co_return fail(each.error);
      open.insert(open.end(), each.commands.begin(), each.commands.end());
    }
    is_stale_ = is_stale_ || !open.empty();
    if (!open.empty()) co_await pause(waiting, deadline);
  }
  co_return replies;
}

}  // namespace braid::detail
