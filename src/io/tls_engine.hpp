// src/io/tls_engine.hpp: TLS between buffers: OpenSSL's state of one connection, without sockets and waits.
#pragma once

#include "openssl_owners.hpp"
#include "tls_setup.hpp"

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace braid::detail {

/// How far a call has come that may need more of the peer.
enum class tls_step : std::uint8_t {
  done,
  hungry,  ///< goes on when more has been received
};

/// What was received goes in through `room` and `received`; what is to be sent comes out of `output` and `sent`.
/// Who owns which buffer: docs/design/tls.md
/// Threads: one at a time, at all calls.
class tls_engine {
 public:
  static auto create(std::shared_ptr<const tls_setup> setup, std::string host) -> result<std::unique_ptr<tls_engine>>;
  tls_engine(const tls_engine&) = delete;
  auto operator=(const tls_engine&) -> tls_engine& = delete;

  /// One step of the handshake: as far as what was received goes.
  [[nodiscard]] auto shake_hands() noexcept -> result<tls_step>;
  struct amount {
    tls_step step = tls_step::done;
    std::size_t bytes = 0;
  };
  /// Decrypts into the front of `into`; `hungry` where nothing has come. No bytes and `done`: the peer has ended.
  [[nodiscard]] auto read(std::span<std::byte> into) noexcept -> result<amount>;
  /// Encrypts the front of `bytes`, which is not empty, in one record, and gives how much of it.
  [[nodiscard]] auto write(std::span<const std::byte> bytes) noexcept -> result<std::size_t>;
  /// Writes the notice that nothing more will come. Again: nothing.
  [[nodiscard]] auto end() noexcept -> result<void>;
  [[nodiscard]] auto has_ended() const noexcept -> bool { return ended_; }

  /// Where to receive more. Stays in its place until `received`.
  [[nodiscard]] auto room() -> std::span<std::byte>;
  void received(std::size_t bytes) noexcept;
  /// Whether a whole record was received and not taken, or something that is none: a step would get somewhere.
  [[nodiscard]] auto is_worth_a_step() const noexcept -> bool { return begin_ != whole_; }

  /// Whether all that was received has been read, and neither the peer has ended nor anything failed.
  [[nodiscard]] auto is_drained() const noexcept -> bool;

  /// What is to be sent next. Stays in its place until all of it is sent.
  [[nodiscard]] auto output() noexcept -> std::span<const std::byte>;
  void sent(std::size_t bytes) noexcept { sent_ += bytes; }
  /// How much waits to be sent.
  [[nodiscard]] auto unsent() const noexcept -> std::size_t { return sending_.size() - sent_ + produced_.size(); }

  /// How much of it reading has brought about, beside what is being sent: the peer decides how much that is.
  [[nodiscard]] auto replies() const noexcept -> std::size_t { return replies_; }

  [[nodiscard]] auto ssl() const noexcept -> SSL* { return ssl_.get(); }
  [[nodiscard]] auto setup() const noexcept -> const tls_setup& { return *setup_; }

 private:
  tls_engine(std::shared_ptr<const tls_setup> setup, std::string host) noexcept
      : setup_(std::move(setup)), host_(std::move(host)) {}

  [[nodiscard]] auto open() -> result<void>;
  [[nodiscard]] auto expect_host() -> result<void>;
  [[nodiscard]] auto failed(int returned) noexcept -> std::error_code;

  static auto method() -> BIO_METHOD*;
  static auto take(BIO* self, char* into, int size) noexcept -> int;
  static auto put(BIO* self, const char* bytes, int size) noexcept -> int;

  std::shared_ptr<const tls_setup> setup_;
  std::string host_;  // a client's key to its sessions
  ssl_ptr ssl_;
  std::vector<std::byte> input_;
  std::size_t begin_ = 0;  // of what was received and OpenSSL has not taken
  std::size_t whole_ = 0;  // where whole records end: OpenSSL gets no piece of one
  std::size_t end_ = 0;
  bool out_of_step_ = false;         // something came that is no record: OpenSSL gets it all, and says what it is
  std::vector<std::byte> produced_;  // by OpenSSL, and not being sent
  std::size_t replies_ = 0;          // of them
  std::vector<std::byte> sending_;   // does not change while it is being sent
  std::size_t sent_ = 0;             // of it
  std::error_code failure_;          // after which nothing goes on
  bool ended_ = false;
  bool out_of_memory_ = false;
};

}  // namespace braid::detail
