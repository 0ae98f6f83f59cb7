// src/io/openssl_engine.hpp: implements a TLS engine with OpenSSL. OpenSSL reads from and writes to memory buffers, not
// to a socket.
#pragma once

#include "openssl_owners.hpp"
#include "openssl_setup.hpp"
#include "tls_engine.hpp"

#include <braid/base/error.hpp>
#include <braid/io/tls.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace braid::detail {

class openssl_engine final : public tls_engine {
 public:
  static auto create(std::shared_ptr<const openssl_setup> setup, std::string host)
      -> result<std::unique_ptr<tls_engine>>;

  [[nodiscard]] auto shake_hands() noexcept -> result<tls_step> override;
  [[nodiscard]] auto read(std::span<std::byte> buffer) noexcept -> result<amount> override;
  [[nodiscard]] auto write(std::span<const std::byte> bytes) noexcept -> result<std::size_t> override;
  [[nodiscard]] auto end() noexcept -> result<void> override;
  [[nodiscard]] auto has_ended() const noexcept -> bool override { return ended_; }

  [[nodiscard]] auto room() -> std::span<std::byte> override;
  void received(std::size_t bytes) noexcept override;
  [[nodiscard]] auto is_worth_a_step() const noexcept -> bool override { return begin_ != whole_; }
  [[nodiscard]] auto is_drained() const noexcept -> bool override;

  [[nodiscard]] auto output() noexcept -> std::span<const std::byte> override;
  void sent(std::size_t bytes) noexcept override { sent_ += bytes; }
  [[nodiscard]] auto unsent() const noexcept -> std::size_t override {
    return sending_.size() - sent_ + produced_.size();
  }
  [[nodiscard]] auto replies() const noexcept -> std::size_t override { return replies_; }

  [[nodiscard]] auto setup() const noexcept -> const tls_setup& override { return *setup_; }
  [[nodiscard]] auto protocol() const noexcept -> std::string_view override;
  [[nodiscard]] auto version() const noexcept -> tls_context::version override;
  [[nodiscard]] auto resumed() const noexcept -> bool override;
  [[nodiscard]] auto server_name() const noexcept -> std::string_view override;
  [[nodiscard]] auto peer_certificate() const -> std::vector<std::byte> override;

 private:
  openssl_engine(std::shared_ptr<const openssl_setup> setup, std::string host) noexcept
      : setup_(std::move(setup)), host_(std::move(host)) {}

  [[nodiscard]] auto open() -> result<void>;
  [[nodiscard]] auto expect_host() -> result<void>;
  [[nodiscard]] auto failed(int returned) noexcept -> std::error_code;

  static auto method() -> BIO_METHOD*;
  static auto take(BIO* self, char* into, int size) noexcept -> int;
  static auto put(BIO* self, const char* bytes, int size) noexcept -> int;

  std::shared_ptr<const openssl_setup> setup_;
  std::string host_;  // a client's key to its sessions
  ssl_ptr ssl_;
  std::vector<std::byte> input_;
  std::size_t begin_ = 0;  // the begin of received bytes that OpenSSL has not read
  std::size_t whole_ = 0;  // the end of the complete records; OpenSSL never gets a partial record
  std::size_t end_ = 0;
  bool out_of_step_ = false;         // an invalid record was received: OpenSSL gets all bytes, and reports the error
  std::vector<std::byte> produced_;  // output of OpenSSL that is not being sent
  std::size_t replies_ = 0;          // the number of bytes in it that reads have produced
  std::vector<std::byte> sending_;   // does not change while it is being sent
  std::size_t sent_ = 0;             // the number of bytes of it that were sent
  std::error_code failure_;          // once it is set, all calls fail
  bool ended_ = false;
  bool out_of_memory_ = false;
};

}  // namespace braid::detail
