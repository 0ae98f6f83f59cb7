// src/net/redis_cluster_map.cpp: requests the map of slots from the nodes, or finds the most useful error if no node
// returns one.
#include "redis_cluster_state.hpp"

#include <braid/base/detail/after.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>

#include <algorithm>
#include <functional>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace braid::detail {
namespace {

// docs/design/constants.md gives the reason for this value.
constexpr duration moment = std::chrono::milliseconds(1);

/// Ranks errors by how well they explain that the client has no map of slots, in ascending order.
enum class error_detail : std::uint8_t {
  nothing,      ///< no node has answered so far
  unreachable,  ///< the node cannot be reached
  soon,         ///< the node is not ready yet
  no,           ///< the node will not answer
};

auto to_error_detail(std::error_code error) noexcept -> error_detail {
  if (error == errc::deadline_exceeded || error == std::errc::timed_out) return error_detail::nothing;
  const bool is_system = error.category() == std::system_category() || error.category() == std::generic_category();
  if (is_system || error == redis_errc::connection_lost) return error_detail::unreachable;
  const bool is_soon = error.category() == redis_category() && is_transient(static_cast<redis_errc>(error.value()));
  return is_soon ? error_detail::soon : error_detail::no;
}

/// Returns the error that describes an answer without a map of slots.
auto error_in(const resp_value& answer) noexcept -> redis_errc {
  if (answer.is_error()) return parse_redis_error(answer.text());
  const bool is_empty = answer.type() == resp_type::array && answer.items().empty();
  return is_empty ? redis_errc::cluster_down : redis_errc::unexpected_reply;
}

/// Returns the IP address from a node's metadata in the answer to CLUSTER SLOTS. The metadata is an array of names and
/// values, or a RESP3 map.
auto ip_in(std::span<const resp_value> node) -> std::string_view {
  if (node.size() < 4 || !node[3].has_items()) return {};
  const std::span<const resp_value> metadata = node[3].items();
  for (std::size_t i = 0; i + 1 < metadata.size(); i += 2)
    if (metadata[i].has_text() && metadata[i].text() == "ip" && metadata[i + 1].has_text())
      return metadata[i + 1].text();
  return {};
}

/// Returns the host of a node in the answer to CLUSTER SLOTS. If a server prefers names, it sends `?` for a node
/// without a name, and sends the node's address in the metadata. If a server does not know its own address, it sends
/// null or an empty string. The result is then `answered`, the host that sent the answer.
auto find_host(std::span<const resp_value> node, std::string_view answered) -> std::string {
  const std::string_view host = node[0].has_text() ? node[0].text() : std::string_view();
  if (!host.empty() && host != "?") return std::string(host);
  const std::string_view ip = host.empty() ? std::string_view() : ip_in(node);
  return std::string(ip.empty() || ip == "?" ? answered : ip);
}

}  // namespace

auto is_transient(redis_errc code) noexcept -> bool {
  return code == redis_errc::try_again || code == redis_errc::cluster_down || code == redis_errc::loading ||
         code == redis_errc::master_down;
}

auto find_reason(std::error_code error, const redis_shared_connection& asked) noexcept -> std::error_code {
  const std::error_code last = asked.last_error();
  if (error == redis_errc::connection_lost && last == std::errc::timed_out) return errc::deadline_exceeded;
  const bool is_away =
      error == errc::deadline_exceeded && asked.status() != redis_shared_connection::state::ready && last;
  return is_away && last != std::errc::timed_out && last != redis_errc::connection_lost ? last : error;
}

void take_reason(std::error_code& error, std::error_code now, redis_access asked) noexcept {
  const bool is_less_specific =
      to_error_detail(now) == error_detail::nothing && to_error_detail(error) != error_detail::nothing;
  if (!is_less_specific || asked == redis_access::write) error = now;
}

/// Returns how long to wait for one node's answer if `nodes` nodes are still to be queried. Waiting for a silent node
/// must leave time for the other nodes, but a nearby node must have enough time to accept a connection. The last node
/// gets more time, in case all nodes are far away.
auto redis_cluster_state::measure_share(time_point limit, std::size_t nodes) const noexcept -> duration {
  // docs/design/constants.md gives the reasons for these values.
  constexpr duration min_time = std::chrono::milliseconds(10);
  constexpr duration max_time = std::chrono::milliseconds(100);
  const duration all = remaining(limit);
  const duration max_length = nodes > 1 ? max_time : std::max(min_time, options_.connection.connect_timeout);
  return std::min(all,
                  std::clamp(all / static_cast<duration::rep>(std::max<std::size_t>(nodes, 2)), min_time, max_length));
}

/// Applies the answer to CLUSTER SLOTS. Returns false, and changes nothing, if the answer is not a valid map.
auto redis_cluster_state::learn(const resp_value& slots, const redis_node& from) -> bool {
  struct range {
    std::uint16_t first;
    std::uint16_t last;
    std::vector<std::pair<std::string, std::uint16_t>> nodes;
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
      made.nodes.emplace_back(find_host(node.items(), from.host), static_cast<std::uint16_t>(port));
    }
    ranges.push_back(std::move(made));
  }
  std::vector<node_ptr> in_map;
  const std::vector<redis_node*> former(owners_.begin(), owners_.end());
  owners_.fill(nullptr);
  for (const auto& known : nodes_) known->replicas.clear();
  for (const range& each : ranges) {
    std::vector<redis_node*> found;
    for (const auto& [host, port] : each.nodes) {
      in_map.push_back(node_at(host, port));
      found.push_back(in_map.back().get());
    }
    redis_node& owner = *found.front();
    owner.replicas.assign(found.begin() + 1, found.end());
    std::fill(owners_.begin() + each.first, owners_.begin() + each.last + 1, &owner);
  }
  const auto has_moved = [](const redis_node* before, const redis_node* now) {
    return before != nullptr && before != now;
  };
  if (options_.connection.tracker != nullptr && !std::ranges::equal(former, owners_, std::not_fn(has_moved)))
    options_.connection.tracker->all_changed();  // a former owner does not report later changes of its keys
  keep_only(in_map);
  return true;
}

/// Returns the nodes from which to request the map, in order. The nodes of the current map are first, and each call
/// begins with a different node of the map. The configured nodes follow, in case no node of the map exists any more.
auto redis_cluster_state::nodes_to_ask() const -> std::vector<node_ptr> {
  std::vector<node_ptr> all(nodes_);
  if (!all.empty()) std::ranges::rotate(all, all.begin() + static_cast<std::ptrdiff_t>(next_asked_ % all.size()));
  for (const auto& each : options_.nodes)
    if (find(each.host, each.port) == nullptr) all.push_back(std::make_shared<redis_node>(each.host, each.port));
  return all;
}

/// Requests the map of slots. Waits first if another task is already requesting it.
auto redis_cluster_state::refresh(time_point deadline) -> task<result<void>> {
  while (is_refreshing_) {
    if (loop_->now() >= deadline) co_return fail(errc::deadline_exceeded);
    co_await sleep_for(moment);
  }
  task<result<void>> asking_for_map = ask_for_map(deadline);
  co_return co_await std::move(asking_for_map);
}

auto redis_cluster_state::ask_for_map(time_point deadline) -> task<result<void>> {
  struct guard {
    bool& flag;
    ~guard() { flag = false; }
  } const asked{is_refreshing_};
  is_refreshing_ = true;
  is_refused_ = false;
  refreshed_ = loop_->now();
  const scope& around = co_await this_scope();
  const time_point limit = std::min({deadline, make_deadline({}), around.deadline()});
  redis_batch question;
  question.add("CLUSTER", "SLOTS");
  const std::vector<node_ptr> nodes = nodes_to_ask();
  std::error_code best = nodes.empty() ? make_error_code(redis_errc::no_address) : errc::deadline_exceeded;
  bool all_have_answered = true;
  for (std::size_t left = nodes.size(); left > 0; --left) {
    ++next_asked_;  // if a stop ends this task here, the next request goes to another node
    const node_ptr& node = nodes[nodes.size() - left];
    arena memory;
    redis_shared_connection& connection = find_connection(*node);
    redis_batch_call call(connection, question, memory, measure_share(limit, left));
    const auto got = co_await call;
    if (got && learn(got->front(), *node)) {
      next_asked_ = static_cast<std::size_t>(std::ranges::find(nodes_, node) - nodes_.begin());  // the next to ask
      is_stale_ = false;
      map_error_ = redis_errc::cluster_down;
      has_map_ = true;
      co_return result<void>();
    }
    const std::error_code why = got ? make_error_code(error_in(got->front())) : find_reason(got.error(), connection);
    if (to_error_detail(why) >= to_error_detail(best)) best = why;
    all_have_answered = all_have_answered && to_error_detail(why) != error_detail::nothing;
    if (loop_->now() < limit) continue;
    all_have_answered = all_have_answered && left == 1;
    break;
  }
  ++next_asked_;  // the last node has more time than the others, so it must change
  no_map(best, all_have_answered);
  co_return fail(best);
}

/// Stores the reason why there is no map. All tasks that need the map get this error, until the map may be requested
/// again.
void redis_cluster_state::no_map(std::error_code error, bool all_have_answered) noexcept {
  refreshed_ = loop_->now();
  is_stale_ = true;
  is_refused_ = all_have_answered && to_error_detail(error) != error_detail::soon;
  if (to_error_detail(error) != error_detail::nothing || !has_map_) map_error_ = error;
}

auto redis_cluster_state::may_ask_for_map() const noexcept -> bool {
  return refreshed_ == time_point() || loop_->now() >= after(refreshed_, options_.refresh_pause);
}

/// Requests the map of slots if it is stale. If there is an old map, reserves half of the call's time for the command
/// itself. If another task is already requesting the map, waits briefly for its result.
auto redis_cluster_state::refresh_if_stale(time_point deadline) -> task<void> {
  if (!is_stale_ || !may_ask_for_map()) co_return;
  if (is_refreshing_) {
    co_await sleep_for(moment);
    co_return;
  }
  const scope& around = co_await this_scope();
  time_point limit = std::min(deadline, around.deadline());
  if (has_map_) limit = after(loop_->now(), remaining(limit) / 2);
  task<result<void>> asking_for_map = ask_for_map(limit);
  static_cast<void>(co_await std::move(asking_for_map));
}

}  // namespace braid::detail
