// src/io/openssl_engine.cpp: calls OpenSSL for one connection, with memory buffers in place of a socket.
#include "openssl_engine.hpp"

#include "openssl_error.hpp"

#include <braid/sync/atomic.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace braid::detail {
namespace {

// docs/design/constants.md gives the reasons for these values.
constexpr std::size_t first_room = 4096;
constexpr std::size_t header_size = 5;
constexpr std::size_t max_record = 16384 + 2048;             // the maximum size of an encrypted record of TLS 1.2
constexpr std::size_t kept_output = std::size_t{32} * 1024;  // the capacity that an empty buffer keeps

auto is_address(const std::string& host) noexcept -> bool {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 || ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

/// Does the same as the macro SSL_set_tlsext_host_name, but without a C-style cast.
auto ask_for(SSL* connection, std::string& host) noexcept -> bool {
  return ::SSL_ctrl(connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data()) == 1;
}

auto is_record(std::span<const std::byte> header) noexcept -> bool {
  constexpr std::byte first_kind{20};
  constexpr std::byte last_kind{24};
  return header[0] >= first_kind && header[0] <= last_kind && header[1] == std::byte{3};
}

}  // namespace

auto openssl_engine::create(std::shared_ptr<const openssl_setup> setup, std::string host)
    -> result<std::unique_ptr<tls_engine>> {
  std::unique_ptr<openssl_engine> made(new openssl_engine(std::move(setup), std::move(host)));
  if (auto opened = made->open(); !opened) return fail(opened.error());
  return made;
}

auto openssl_engine::open() -> result<void> {
  ::ERR_clear_error();
  BIO_METHOD* const buffer_method = method();
  ssl_.reset(::SSL_new(setup_->context()));
  BIO* const buffers = buffer_method == nullptr || ssl_ == nullptr ? nullptr : ::BIO_new(buffer_method);
  if (buffers == nullptr) return fail(std::make_error_code(std::errc::not_enough_memory));
  ::BIO_set_data(buffers, this);
  ::BIO_set_init(buffers, 1);
  ::SSL_set_bio(ssl_.get(), buffers, buffers);
  if (setup_->side() == tls_side::server) {
    ::SSL_set_accept_state(ssl_.get());
    return {};
  }
  ::SSL_set_connect_state(ssl_.get());
  return expect_host();
}

/// Sets the host name that the server's certificate must match, and sends the name to the server.
auto openssl_engine::expect_host() -> result<void> {
  // OpenSSL would interpret a leading dot as permission to accept a certificate of any subdomain.
  if (host_.starts_with('.') || host_.contains("..")) return fail(errc::invalid_argument);
  if (host_.ends_with('.')) host_.pop_back();
  if (host_.contains('\0') || (host_.empty() && setup_->verifies())) return fail(errc::invalid_argument);
  SSL* const ssl = ssl_.get();
  SSL_set_app_data(ssl, &host_);
  if (host_.empty()) return {};
  bool taken = false;
  if (is_address(host_)) {
    taken = ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), host_.c_str()) == 1;
  } else {
    ::SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    taken = ::SSL_set1_host(ssl, host_.c_str()) == 1 && ask_for(ssl, host_);
  }
  if (!taken) {
    ::ERR_clear_error();
    return fail(errc::invalid_argument);
  }
  if (!setup_->sessions().offer(host_, ssl)) return fail(tls_failure());
  return {};
}

auto openssl_engine::shake_hands() noexcept -> result<tls_step> {
  if (failure_) return fail(failure_);
  ::ERR_clear_error();
  const int returned = ::SSL_do_handshake(ssl_.get());
  if (returned == 1) return tls_step::done;
  if (::SSL_get_error(ssl_.get(), returned) == SSL_ERROR_WANT_READ) return tls_step::hungry;
  return fail(failed(returned));
}

auto openssl_engine::read(std::span<std::byte> buffer) noexcept -> result<amount> {
  amount got{.step = tls_step::hungry, .bytes = 0};
  while (got.bytes < buffer.size()) {
    if (failure_ && got.bytes == 0) return fail(failure_);
    if (failure_) break;
    ::ERR_clear_error();
    std::size_t count = 0;
    const std::size_t before = produced_.size();
    const int returned = ::SSL_read_ex(ssl_.get(), buffer.data() + got.bytes, buffer.size() - got.bytes, &count);
    replies_ += produced_.size() - before;
    if (returned == 1) {
      got.step = tls_step::done;
      got.bytes += count;
      continue;
    }
    const int why = ::SSL_get_error(ssl_.get(), returned);
    if (why == SSL_ERROR_ZERO_RETURN) got.step = tls_step::done;
    if (why == SSL_ERROR_ZERO_RETURN || why == SSL_ERROR_WANT_READ) break;
    static_cast<void>(failed(returned));
  }
  return got;
}

auto openssl_engine::write(std::span<const std::byte> bytes) noexcept -> result<std::size_t> {
  if (failure_) return fail(failure_);
  if (ended_) return fail(std::make_error_code(std::errc::broken_pipe));
  ::ERR_clear_error();
  std::size_t count = 0;
  const int returned = ::SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
  if (returned == 1) return count;
  return fail(failed(returned));
}

auto openssl_engine::end() noexcept -> result<void> {
  if (failure_) return fail(failure_);
  if (std::exchange(ended_, true)) return {};
  ::ERR_clear_error();
  const int returned = ::SSL_shutdown(ssl_.get());
  if (returned < 0) return fail(failed(returned));
  return {};
}

/// Returns the reason why OpenSSL's call failed, and stores it for later calls.
auto openssl_engine::failed(int returned) noexcept -> std::error_code {
  const long verdict = ::SSL_get_verify_result(ssl_.get());
  const unsigned long cause = ::ERR_peek_error();
  const bool is_refused = ERR_GET_LIB(cause) == ERR_LIB_SSL && ERR_GET_REASON(cause) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  const int why = ::SSL_get_error(ssl_.get(), returned);
  failure_ = is_refused && verdict != X509_V_OK ? certificate_failure(verdict) : tls_failure();
  if (why != SSL_ERROR_SSL && why != SSL_ERROR_SYSCALL) failure_ = std::make_error_code(std::errc::protocol_error);
  if (out_of_memory_) failure_ = std::make_error_code(std::errc::not_enough_memory);
  ::ERR_clear_error();
  return failure_;
}

auto openssl_engine::room() -> std::span<std::byte> {
  if (begin_ != 0) {
    std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    whole_ -= begin_;
    begin_ = 0;
  }
  if (end_ == input_.size()) input_.resize(std::max(first_room, 2 * input_.size()));
  return std::span(input_).subspan(end_);
}

void openssl_engine::received(std::size_t bytes) noexcept {
  end_ += bytes;
  while (!out_of_step_ && end_ - whole_ >= header_size) {
    const auto rest = std::span(input_).subspan(whole_, end_ - whole_);
    const auto length = std::to_integer<std::size_t>(rest[3]) << 8U | std::to_integer<std::size_t>(rest[4]);
    out_of_step_ = !is_record(rest) || length > max_record;
    if (rest.size() - header_size < length) break;
    whole_ += header_size + length;
  }
  if (out_of_step_) whole_ = end_;
}

auto openssl_engine::is_drained() const noexcept -> bool {
  const bool peer_ended = (::SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  return begin_ == end_ && ::SSL_has_pending(ssl_.get()) == 0 && !peer_ended && !failure_;
}

auto openssl_engine::output() noexcept -> std::span<const std::byte> {
  if (sent_ == sending_.size()) {
    sending_.clear();
    sent_ = 0;
    replies_ = 0;
    std::swap(sending_, produced_);
    if (sending_.empty() && sending_.capacity() > kept_output) sending_ = {};
    if (produced_.capacity() > kept_output && sending_.empty()) produced_ = {};
  }
  return std::span(sending_).subspan(sent_);
}

/// Returns the BIO method of the process. The method is never freed, because OpenSSL may be cleaned up before our
/// static objects are destroyed.
auto openssl_engine::method() -> BIO_METHOD* {
  constinit static atomic<BIO_METHOD*> made{nullptr};  // no lock: the child of a fork would wait for it
  BIO_METHOD* known = made.load(acquire);              // edge tls.method: observe, its functions are seen set
  if (known != nullptr) return known;
  BIO_METHOD* const created = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "buffers of braid");
  if (created == nullptr) return created;
  ::BIO_meth_set_read(created, &openssl_engine::take);
  ::BIO_meth_set_write(created, &openssl_engine::put);
  ::BIO_meth_set_ctrl(created, [](BIO* /*self*/, int command, long /*number*/, void* /*pointer*/) -> long {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  });
  // edge tls.method: both, a thread that finds the method sees its functions set
  if (made.compare_exchange_strong(known, created, acq_rel, acquire)) return created;
  ::BIO_meth_free(created);
  return known;
}

auto openssl_engine::take(BIO* self, char* into, int size) noexcept -> int {
  auto& mine = *static_cast<openssl_engine*>(::BIO_get_data(self));
  BIO_clear_retry_flags(self);
  if (mine.begin_ == mine.whole_) {
    BIO_set_retry_read(self);
    return -1;
  }
  const std::size_t count = std::min(static_cast<std::size_t>(size), mine.whole_ - mine.begin_);
  std::memcpy(into, mine.input_.data() + mine.begin_, count);
  mine.begin_ += count;
  return static_cast<int>(count);
}

auto openssl_engine::put(BIO* self, const char* bytes, int size) noexcept -> int {
  auto& mine = *static_cast<openssl_engine*>(::BIO_get_data(self));
  BIO_clear_retry_flags(self);
  const auto added = std::as_bytes(std::span(bytes, static_cast<std::size_t>(size)));
  try {
    mine.produced_.insert(mine.produced_.end(), added.begin(), added.end());
  } catch (...) {  // exceptions must not pass through OpenSSL, which is written in C
    mine.out_of_memory_ = true;
    return -1;
  }
  return size;
}

auto openssl_engine::protocol() const noexcept -> std::string_view {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  ::SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

auto openssl_engine::version() const noexcept -> tls_context::version {
  return ::SSL_version(ssl_.get()) == TLS1_3_VERSION ? tls_context::version::tls_1_3 : tls_context::version::tls_1_2;
}

auto openssl_engine::resumed() const noexcept -> bool { return ::SSL_session_reused(ssl_.get()) == 1; }

auto openssl_engine::server_name() const noexcept -> std::string_view {
  const char* const name = ::SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
  return name != nullptr ? name : std::string_view();
}

auto openssl_engine::peer_certificate() const -> std::vector<std::byte> {
  const X509* const certificate = ::SSL_get0_peer_certificate(ssl_.get());
  const int size = certificate != nullptr ? ::i2d_X509(certificate, nullptr) : 0;
  if (size <= 0) return {};
  std::vector<std::byte> all(static_cast<std::size_t>(size));
  auto* at = reinterpret_cast<unsigned char*>(all.data());
  ::i2d_X509(certificate, &at);
  return all;
}

}  // namespace braid::detail
