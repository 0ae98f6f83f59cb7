// rankd/store/redis_store.cpp: batches as pipelines, replies as batches, and the connections of each loop.
#include <rankd/store/redis_store.hpp>

#include <rankd/store/detail/redis_failure.hpp>
#include <rankd/store/error.hpp>
#include <rankd/store/redis_options.hpp>

#include <braid/base/assert.hpp>
#include <braid/coro/event.hpp>
#include <braid/coro/scope.hpp>
#include <braid/io/loop.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_error.hpp>

#include <algorithm>
#include <optional>
#include <span>

namespace rankd {
namespace {

using braid::redis_errc;
using braid::resp_type;
using braid::resp_value;

/// What an error reply means for the whole batch.
auto refusal(const resp_value& reply) -> std::error_code {
  const redis_errc code = braid::redis_error_of(reply.text());
  if (code == redis_errc::wrong_type) return store_errc::wrong_type;
  return code;
}

/// The elements of an aggregate, which are texts; nothing where one is something else.
auto texts_of(const resp_value& reply) -> std::optional<std::span<const resp_value>> {
  const std::span<const resp_value> items = reply.items();
  const auto is_text = [](const resp_value& each) { return each.type() == resp_type::bulk_string; };
  if (!std::ranges::all_of(items, is_text)) return std::nullopt;
  return items;
}

/// Sorted by name, as the embedded store keeps them: a server gives them in any order.
auto fields_of(std::span<const resp_value> texts, braid::arena& arena) -> std::span<const hash_field> {
  const auto out = arena.uninitialized<hash_field>(texts.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = {texts[2 * i].text(), texts[2 * i + 1].text()};
  std::ranges::sort(out, {}, &hash_field::name);
  return out;
}

/// The ids among some texts.
auto ids_of(std::span<const resp_value> texts, braid::arena& arena) -> std::span<const std::int64_t> {
  const auto out = arena.uninitialized<std::int64_t>(texts.size());
  std::size_t used = 0;
  for (const resp_value& each : texts)
    if (const auto id = parse_id(each.text())) out[used++] = *id;
  return out.first(used);
}

}  // namespace

/// An entry of `pools_`, for as long as the connections are there.
class redis_store::seat {
 public:
  seat(redis_store& of, const braid::home& where, braid::redis_pool& connections) : of_(&of), where_(&where) {
    const std::scoped_lock lock(of.mutex_);
    of.pools_.emplace_back(&where, &connections);
  }
  seat(const seat&) = delete;
  auto operator=(const seat&) -> seat& = delete;
  ~seat() {
    const std::scoped_lock lock(of_->mutex_);
    std::erase_if(of_->pools_, [this](const auto& each) { return each.first == where_; });
  }

 private:
  redis_store* of_;
  const braid::home* where_;
};

redis_store::redis_store(redis_store_options options) : options_(std::move(options)) {
  BRAID_EXPECTS(options_.connections > 0, "a store has a connection");
}

/// Owns the connections of a loop until the loop stops.
auto redis_store::keep_connections(redis_store& owner, braid::loop& on) -> braid::task<void> {
  braid::redis_pool connections(on, owner.options_.server, owner.options_.connections);
  const seat known(owner, on, connections);
  braid::event never;
  co_await never;
}

auto redis_store::find(const braid::home& where) -> braid::redis_pool* {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(pools_, &where, [](const auto& each) { return each.first; });
  return found == pools_.end() ? nullptr : found->second;
}

/// The connections of a loop; null where it stops already.
auto redis_store::pool_of(braid::home& where) -> braid::redis_pool* {
  if (braid::redis_pool* known = find(where)) return known;
  auto* const on = dynamic_cast<braid::loop*>(&where);
  BRAID_EXPECTS(on != nullptr, "a Redis store is asked by tasks of an event loop");
  on->spawn(keep_connections(*this, *on));
  return find(where);
}

/// Sends a batch and waits for all of it. The first reply that is an error is that of the batch.
auto redis_store::run(redis_store& self, const braid::redis_batch& batch, braid::arena& arena)
    -> braid::task<braid::result<std::span<const resp_value>>> {
  braid::scope& around = co_await braid::this_scope();
  braid::redis_pool* const connections = self.pool_of(around.where());
  if (connections == nullptr) co_return braid::fail(braid::errc::closed);
  const auto replies = co_await connections->run(batch, arena);
  if (!replies) co_return braid::fail(replies.error());
  for (const resp_value& each : *replies)
    if (each.is_error()) co_return braid::fail(refusal(each));
  co_return *replies;
}

auto redis_store::hget(key_batch keys, std::string_view field, braid::arena& arena)
    -> braid::task<braid::result<field_batch>> {
  braid::redis_batch batch(braid::redis_replies::text);
  for (const std::int64_t id : keys.ids) batch.add("HGET", braid::resp_joined{keys.prefix, id}, field);
  auto running = run(*this, batch, arena);
  const auto replies = co_await std::move(running);
  if (!replies) co_return braid::fail(replies.error());
  const auto out = arena.filled(replies->size(), std::optional<std::string_view>());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!(*replies)[i].is_null()) out[i] = (*replies)[i].text();
  co_return out;
}

auto redis_store::hgetall(key_batch keys, braid::arena& arena) -> braid::task<braid::result<hash_batch>> {
  braid::redis_batch batch(braid::redis_replies::texts);
  for (const std::int64_t id : keys.ids) batch.add("HGETALL", braid::resp_joined{keys.prefix, id});
  auto running = run(*this, batch, arena);
  const auto replies = co_await std::move(running);
  if (!replies) co_return braid::fail(replies.error());
  const auto out = arena.filled(replies->size(), std::span<const hash_field>());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto texts = texts_of((*replies)[i]);
    if (!texts || texts->size() % 2 != 0) co_return braid::fail(redis_errc::unexpected_reply);
    out[i] = fields_of(*texts, arena);
  }
  co_return out;
}

auto redis_store::lrange_ids(key_batch keys, std::uint32_t first, braid::arena& arena)
    -> braid::task<braid::result<id_batch>> {
  if (first == 0) co_return id_batch{arena.filled(keys.ids.size(), std::span<const std::int64_t>()), 0};
  braid::redis_batch batch(braid::redis_replies::texts);
  const std::int64_t last = std::int64_t{first} - 1;
  for (const std::int64_t id : keys.ids) batch.add("LRANGE", braid::resp_joined{keys.prefix, id}, 0, last);
  auto running = run(*this, batch, arena);
  const auto replies = co_await std::move(running);
  if (!replies) co_return braid::fail(replies.error());
  const auto lists = arena.filled(replies->size(), std::span<const std::int64_t>());
  std::uint64_t malformed = 0;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const auto texts = texts_of((*replies)[i]);
    if (!texts || texts->size() > first) co_return braid::fail(redis_errc::unexpected_reply);
    lists[i] = ids_of(*texts, arena);
    malformed += texts->size() - lists[i].size();
  }
  co_return id_batch{lists, malformed};
}

auto redis_store::explain(std::error_code why) const -> store_failure {
  if (why == store_errc::wrong_type) return wrong_type_failure(options_.endpoint_id);
  return {std::string(detail::redis_failure_code(why)),
          "endpoint `" + options_.endpoint_id + "` at " + place_of(options_.server) + ": " + why.message()};
}

}  // namespace rankd
