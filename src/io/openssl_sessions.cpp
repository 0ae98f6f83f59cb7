// src/io/openssl_sessions.cpp: stores TLS sessions as bytes, so that later connections can resume them.
#include "openssl_sessions.hpp"

#include "openssl_owners.hpp"

#include <utility>

#include <openssl/crypto.h>

namespace braid::detail {
namespace {

void wipe(std::string& secret) noexcept { ::OPENSSL_cleanse(secret.data(), secret.size()); }

}  // namespace

openssl_sessions::~openssl_sessions() {
  for (auto& [host, bytes] : known_) wipe(bytes);
}

void openssl_sessions::keep(const std::string& host, SSL_SESSION* session) {
  const int size = ::i2d_SSL_SESSION(session, nullptr);
  if (max_sessions_ == 0 || size <= 0) return;
  std::string bytes(static_cast<std::size_t>(size), '\0');
  auto* at = reinterpret_cast<unsigned char*>(bytes.data());
  ::i2d_SSL_SESSION(session, &at);

  const std::lock_guard guard(mutex_);
  if (!known_.contains(host)) {
    if (known_.size() == max_sessions_) {
      const auto oldest = known_.find(hosts_.front());
      wipe(oldest->second);
      known_.erase(oldest);
      hosts_.pop_front();
    }
    hosts_.push_back(host);
  }
  std::string& place = known_[host];
  wipe(place);
  place = std::move(bytes);
}

auto openssl_sessions::offer(const std::string& host, SSL* connection) const -> bool {
  std::string bytes;
  {
    const std::lock_guard guard(mutex_);
    const auto found = known_.find(host);
    if (found == known_.end()) return true;
    bytes = found->second;
  }
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const session_ptr session(::d2i_SSL_SESSION(nullptr, &at, static_cast<long>(bytes.size())));
  wipe(bytes);
  return session != nullptr && ::SSL_set_session(connection, session.get()) == 1;
}

}  // namespace braid::detail
