// src/net/redis_cluster.cpp: implements the calls of a cluster client: encodes commands, sends them to the right nodes,
// and reads the replies.
#include <braid/net/redis_cluster.hpp>

#include <braid/net/detail/redis_commands.hpp>

#include "redis_cluster_state.hpp"

#include <utility>

namespace braid {
namespace {

/// Sends a command to the cluster and reads the reply. `redis_calls` does the same for a single connection.
template <typename Command>
auto sent_by(detail::redis_cluster_state& cluster, Command command, arena& memory, time_point deadline)
    -> task<result<typename Command::value_type>> {
  detail::byte_buffer bytes;
  command.encode(bytes);
  const auto access = Command::is_read ? detail::redis_access::read : detail::redis_access::write;
  const auto got = co_await cluster.send(bytes.bytes(), access, memory, deadline);
  if (!got) co_return fail(got.error());
  if (got->is_error()) co_return fail(detail::parse_redis_error(got->text()));
  if ((Command::types & detail::redis_type_bit(got->type())) == 0) co_return fail(redis_errc::unexpected_reply);
  co_return Command::read(*got);
}

}  // namespace

redis_cluster::redis_cluster(loop& loop, redis_cluster::options options)
    : state_(std::make_unique<detail::redis_cluster_state>(loop, std::move(options))) {}

redis_cluster::~redis_cluster() = default;

auto redis_cluster::get(std::string_view key, arena& memory, duration timeout)
    -> task<result<std::optional<std::string_view>>> {
  return sent_by(*state_, detail::redis_get{{}, key}, memory, state_->make_deadline(timeout));
}

auto redis_cluster::set(std::string_view key, std::string_view value, duration timeout) -> task<result<void>> {
  arena memory(256);
  const time_point deadline = state_->make_deadline(timeout);
  co_return co_await sent_by(*state_, detail::redis_set{{}, key, value}, memory, deadline);
}

auto redis_cluster::hget(std::string_view key, std::string_view field, arena& memory, duration timeout)
    -> task<result<std::optional<std::string_view>>> {
  return sent_by(*state_, detail::redis_hget{{}, key, field}, memory, state_->make_deadline(timeout));
}

auto redis_cluster::hgetall(std::string_view key, arena& memory, duration timeout)
    -> task<result<std::span<const resp_value>>> {
  return sent_by(*state_, detail::redis_hgetall{{}, key}, memory, state_->make_deadline(timeout));
}

auto redis_cluster::lrange(std::string_view key, std::int64_t first, std::int64_t last, arena& memory, duration timeout)
    -> task<result<std::span<const resp_value>>> {
  return sent_by(*state_, detail::redis_lrange{{}, key, first, last}, memory, state_->make_deadline(timeout));
}

auto redis_cluster::command(std::span<const std::string_view> words, arena& memory, duration timeout)
    -> task<result<resp_value>> {
  if (!detail::may_share_connection(words)) co_return fail(redis_errc::not_shared);
  detail::byte_buffer bytes;
  detail::write_command_words(bytes, words);
  const time_point deadline = state_->make_deadline(timeout);
  co_return co_await state_->send(bytes.bytes(), detail::redis_access::write, memory, deadline);
}

auto redis_cluster::run(const redis_batch& batch, arena& memory, duration timeout)
    -> task<result<std::span<const resp_value>>> {
  return state_->run(batch, memory, state_->make_deadline(timeout));
}

auto redis_cluster::refresh() -> task<result<void>> { return state_->refresh(time_point::max()); }

void redis_cluster::close() noexcept { state_->close(); }

auto redis_cluster::refusal_of(std::error_code error) const noexcept -> std::string_view {
  return state_->refusal_of(error);
}

auto redis_cluster::owner(std::uint16_t slot) const -> std::string {
  const detail::redis_node* const node = state_->owner(slot);
  return node == nullptr ? std::string() : node->host + ":" + std::to_string(node->port);
}

auto redis_cluster::redirections() const noexcept -> std::uint64_t { return state_->redirections(); }

}  // namespace braid
