// src/io/tls_connection.cpp: moves bytes between a TLS engine and its socket.
#include "tls_connection.hpp"

#include <braid/base/config.hpp>
#include <braid/coro/offload.hpp>
#include <braid/io/tls.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <system_error>

#include <sys/socket.h>

namespace braid::detail {
namespace {

// docs/design/constants.md gives the reasons for these values.
constexpr std::size_t record = 16384;                          // the maximum number of bytes that are encrypted at once
constexpr std::size_t bytes_at_once = std::size_t{64} * 1024;  // encrypted bytes that may wait to be sent
constexpr std::size_t max_replies = std::size_t{16} * 1024;    // the maximum of unsent replies

/// Splits the given buffers into pieces of the size of a TLS record. Buffers that are shorter than a record are
/// combined.
class pieces {
 public:
  explicit pieces(std::span<const std::span<const std::byte>> parts) noexcept : parts_(parts) { skip_empty(); }

  /// Returns the next piece, at most one record long, or an empty piece at the end.
  auto next() -> std::span<const std::byte> {
    if (parts_.empty()) return {};
    if (rest().size() >= record || parts_.size() == 1) return taken(std::min(rest().size(), record));
    together_.clear();
    while (!parts_.empty() && together_.size() < record) {
      const auto piece = taken(std::min(rest().size(), record - together_.size()));
      together_.insert(together_.end(), piece.begin(), piece.end());
    }
    return together_;
  }

 private:
  [[nodiscard]] auto rest() const noexcept -> std::span<const std::byte> { return parts_.front().subspan(offset_); }

  auto taken(std::size_t size) noexcept -> std::span<const std::byte> {
    const auto piece = rest().first(size);
    offset_ += size;
    skip_empty();
    return piece;
  }

  void skip_empty() noexcept {
    while (!parts_.empty() && offset_ == parts_.front().size()) {
      parts_ = parts_.subspan(1);
      offset_ = 0;
    }
  }

  std::span<const std::span<const std::byte>> parts_;
  std::size_t offset_ = 0;  // the offset in the first part
  std::vector<std::byte> together_;
};

struct choose_step {
  tls_engine* engine;
  auto operator()() const noexcept -> result<tls_step> { return engine->shake_hands(); }
};

}  // namespace

auto tls_connection::shake_hands() -> task<result<void>> {
  for (;;) {
    const result<tls_step> came = co_await step();
    if (!came) {
      send_what_goes();  // sends the alert with the reason
      co_return fail(came.error());
    }
    if (const auto sent = co_await send(); !sent) co_return fail(sent.error());
    if (*came == tls_step::done) co_return result<void>();
    do {
      if (const auto got = co_await receive(); !got) co_return fail(got.error());
    } while (!engine_->is_worth_a_step());
  }
}

/// Performs one step of the handshake. A step that may take long runs on the executor for handshakes. The first step of
/// a client only sends a greeting, so it runs on this thread.
auto tls_connection::step() -> task<result<tls_step>> {
  executor* const elsewhere = engine_->setup().handshakes();
  if (elsewhere == nullptr || !engine_->is_worth_a_step()) co_return engine_->shake_hands();
  try {
    auto there = offload(*elsewhere, choose_step{engine_.get()});
    co_return co_await there;
  } catch (const std::system_error& refused) {
    co_return fail(refused.code());
  }
}

auto tls_connection::receive() -> task<result<void>> {
  const result<std::size_t> got = co_await socket_.read_some(engine_->room());
  if (!got) co_return fail(got.error());
  if (*got == 0) co_return fail(tls_errc::truncated);
  engine_->received(*got);
  co_return result<void>();
}

auto tls_connection::read_some(std::span<std::byte> buffer) -> task<result<std::size_t>> {
  BRAID_EXPECTS(!buffer.empty(), "a read needs room for at least one byte, because 0 means the end of the stream");
  for (;;) {
    const auto got = engine_->read(buffer);
    if (engine_->replies() != 0) send_what_goes();  // a reply to a change of keys, or an alert
    if (!got) co_return fail(got.error());
    if (got->step == tls_step::done) co_return got->bytes;
    // A peer that causes replies must read them; otherwise its connection makes no progress. The output of writes does
    // not count, because a write may wait until the peer reads.
    if (engine_->replies() > max_replies)
      if (const auto sent = co_await send(); !sent) co_return fail(sent.error());
    if (const auto received = co_await receive(); !received) co_return fail(received.error());
  }
}

auto tls_connection::read_exactly(std::span<std::byte> buffer) -> task<result<void>> {
  while (!buffer.empty()) {
    const result<std::size_t> got = co_await read_some(buffer);
    if (!got) co_return fail(got.error());
    if (*got == 0) co_return fail(errc::ended);
    buffer = buffer.subspan(*got);
  }
  co_return result<void>();
}

auto tls_connection::write_one(std::span<const std::byte> bytes) -> task<result<void>> {
  const std::span<const std::byte> only = bytes;
  co_return co_await write_parts(std::span(&only, 1));
}

auto tls_connection::write_parts(std::span<const std::span<const std::byte>> parts) -> task<result<void>> {
  pieces all(parts);
  for (auto piece = all.next(); !piece.empty();) {
    while (!piece.empty() && engine_->unsent() < bytes_at_once) {
      const result<std::size_t> written = engine_->write(piece);
      if (!written) co_return fail(written.error());
      piece = piece.subspan(*written);
      if (piece.empty()) piece = all.next();
    }
    if (const auto sent = co_await send(); !sent) co_return fail(sent.error());
  }
  co_return result<void>();
}

auto tls_connection::shutdown() -> task<result<void>> {
  const bool again = engine_->has_ended();
  if (const auto ended = engine_->end(); !ended) co_return fail(ended.error());
  if (const auto sent = co_await send(); !sent) co_return fail(sent.error());
  if (again) co_return result<void>();
  co_return socket_.shutdown(stream_socket::side::write);
}

/// Ends the connection without waiting. If another task is sending, that task also sends the close notice.
auto tls_connection::try_shutdown() noexcept -> bool {
  const bool again = engine_->has_ended();
  if (!engine_->end()) return false;
  send_what_goes();
  if (engine_->unsent() != 0) return false;
  return again || socket_.shutdown(stream_socket::side::write).has_value();
}

/// Sends the engine's whole output, including output that is added during the call.
auto tls_connection::send() -> task<result<void>> {
  std::optional<async_mutex::guard> held = sending_.try_lock();
  if (!held) held.emplace(co_await sending_.lock());
  while (engine_->unsent() != 0) {
    const result<std::size_t> moved = co_await socket_.write_some(engine_->output());
    if (!moved) co_return fail(moved.error());
    engine_->sent(*moved);
  }
  static_cast<void>(engine_->output());  // frees memory
  co_return result<void>();
}

/// Sends as much as the socket accepts without waiting. If another task is sending, that task sends the output instead.
void tls_connection::send_what_goes() noexcept {
  const std::optional<async_mutex::guard> held = sending_.try_lock();
  if (!held) return;
  while (engine_->unsent() != 0) {
    const auto output = engine_->output();
    const ::ssize_t moved = ::send(socket_.number(), output.data(), output.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (moved < 0) return;  // the next send reports why
    engine_->sent(static_cast<std::size_t>(moved));
  }
}

}  // namespace braid::detail
