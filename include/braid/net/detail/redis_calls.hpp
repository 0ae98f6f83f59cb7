// braid/net/detail/redis_calls.hpp: functions that send Redis commands. They are shared by all classes that have
// connections.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/clock.hpp>
#include <braid/net/detail/redis_call.hpp>
#include <braid/net/detail/redis_commands.hpp>
#include <braid/net/redis_batch.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace braid::detail {

/// The functions that send commands to Redis. The derived class defines `shared_connection()`, which returns the
/// connection for the next call. Each call returns an awaitable whose value is a `result`: a value, an error of the
/// server (`redis_errc`), or the reason why there is no reply. Strings are stored in `memory`. A call must be awaited
/// at once, by a task of the connection's loop, and its arguments must live until the call has ended. If a stop or a
/// deadline of the caller's scope ends the call early, the reply is dropped when it arrives. If a write fails, it may
/// have been executed nevertheless, unless the server has refused it. `timeout` counts from the beginning of the loop's
/// iteration. If `timeout` is zero, the timeout of the options applies; duration::max() means no timeout. Threads: the
/// loop's thread. Lifetime: the connection and `memory` must outlive the call. Cost: no allocation except in `memory`;
/// all commands of an iteration are sent by one system call.
template <typename Derived>
class redis_calls {
 public:
  static constexpr duration default_timeout = duration::zero();

  /// Returns the string of a key as result<std::optional<std::string_view>>. The optional is empty if the key does not
  /// exist.
  auto get(std::string_view key, arena& memory, duration timeout = default_timeout) {
    return call(detail::redis_get{{}, key}, &memory, timeout);
  }
  /// Sets a key to a string. Returns result<void>.
  auto set(std::string_view key, std::string_view value, duration timeout = default_timeout) {
    return call(detail::redis_set{{}, key, value}, nullptr, timeout);
  }
  /// Removes a key. Returns the number of removed keys as result<std::int64_t>.
  auto del(std::string_view key, duration timeout = default_timeout) {
    return call(detail::redis_del{{}, key}, nullptr, timeout);
  }
  /// Returns the value of a field of a hash as result<std::optional<std::string_view>>. The optional is empty if there
  /// is no such field.
  auto hget(std::string_view key, std::string_view field, arena& memory, duration timeout = default_timeout) {
    return call(detail::redis_hget{{}, key, field}, &memory, timeout);
  }
  /// Returns the names and values of a hash, alternating, as result<std::span<const resp_value>>. All values are
  /// strings. The result is empty if the hash does not exist.
  auto hgetall(std::string_view key, arena& memory, duration timeout = default_timeout) {
    return call(detail::redis_hgetall{{}, key}, &memory, timeout);
  }
  /// Sets a field of a hash. Returns 1 if the field is new, otherwise 0, as result<std::int64_t>.
  auto hset(std::string_view key, std::string_view field, std::string_view value, duration timeout = default_timeout) {
    return call(detail::redis_hset{{}, key, field, value}, nullptr, timeout);
  }
  /// Returns elements of a list as result<std::span<const resp_value>>. All values are strings. The result is empty if
  /// the list does not exist.
  auto lrange(std::string_view key, std::int64_t first, std::int64_t last, arena& memory,
              duration timeout = default_timeout) {
    return call(detail::redis_lrange{{}, key, first, last}, &memory, timeout);
  }
  /// Appends to a list. Returns its new length as result<std::int64_t>.
  auto rpush(std::string_view key, std::string_view value, duration timeout = default_timeout) {
    return call(detail::redis_rpush{{}, key, value}, nullptr, timeout);
  }

  /// Sends any command. Returns the reply as result<resp_value>. An error of the server is returned as a value, because
  /// its text has more details than a code.
  /// Errors: redis_errc::not_shared for a command that would change the connection for other callers.
  auto command(std::span<const std::string_view> words, arena& memory, duration timeout = default_timeout) {
    return call(detail::redis_words{words}, &memory, timeout);
  }

  /// Sends all commands of a batch and waits for all replies. Returns one reply for each command, including error
  /// replies, as result<std::span<const resp_value>>. If the connection ends before all replies have arrived, the call
  /// fails, and the replies that have arrived are lost, too. Lifetime: the batch must not change until the call has
  /// ended. Errors: redis_errc::not_shared; std::bad_alloc.
  auto run(const redis_batch& batch, arena& memory, duration timeout = default_timeout) {
    return detail::redis_batch_call(static_cast<Derived&>(*this).shared_connection(), batch, memory, timeout);
  }
  /// Works like `run` with a `redis_batch`, but the batch consists of the same command for many ids.
  auto run(const redis_id_batch& batch, arena& memory, duration timeout = default_timeout) {
    return detail::redis_id_batch_call(static_cast<Derived&>(*this).shared_connection(), batch, memory, timeout);
  }

 private:
  friend Derived;
  redis_calls() = default;

  template <typename Command>
  auto call(Command command, arena* memory, duration timeout) {
    return detail::redis_call<Command>(static_cast<Derived&>(*this).shared_connection(), command, memory, timeout);
  }
};

}  // namespace braid::detail
