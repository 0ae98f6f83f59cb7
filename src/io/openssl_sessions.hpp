// src/io/openssl_sessions.hpp: the last session with each host, to be resumed.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <openssl/ssl.h>

namespace braid::detail {

/// Sessions are kept as bytes: no object of OpenSSL is shared by connections, which may be of several threads. The
/// bytes are secrets, and are wiped. A session may be resumed any number of times.
/// Threads: any.
class openssl_sessions {
 public:
  explicit openssl_sessions(std::size_t max_sessions) : max_sessions_(max_sessions) {}
  openssl_sessions(const openssl_sessions&) = delete;
  auto operator=(const openssl_sessions&) -> openssl_sessions& = delete;
  ~openssl_sessions();

  /// Replaces the host's earlier session, or the session of the oldest host if there are too many.
  void keep(const std::string& host, SSL_SESSION* session);
  /// Makes `connection` offer the host's session, if there is one. Returns false if OpenSSL has failed.
  [[nodiscard]] auto offer(const std::string& host, SSL* connection) const -> bool;

 private:
  const std::size_t max_sessions_;
  mutable std::mutex mutex_;
  // Under mutex_:
  std::unordered_map<std::string, std::string> known_;
  std::deque<std::string> hosts_;  // of `known_`, the first first
};

}  // namespace braid::detail
