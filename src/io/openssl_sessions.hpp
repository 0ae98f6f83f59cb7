// src/io/openssl_sessions.hpp: stores the last TLS session with each host, so that a client can resume it.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <openssl/ssl.h>

namespace braid::detail {

/// A cache of TLS sessions by host. Sessions are stored as bytes, so that connections of different threads share no
/// object of OpenSSL. The bytes are secrets, so they are overwritten before their memory is freed. A session may be
/// resumed any number of times.
/// Threads: any.
class openssl_sessions {
 public:
  explicit openssl_sessions(std::size_t max_sessions) : max_sessions_(max_sessions) {}
  openssl_sessions(const openssl_sessions&) = delete;
  auto operator=(const openssl_sessions&) -> openssl_sessions& = delete;
  ~openssl_sessions();

  /// Stores a session of the host in place of the host's earlier session. If the cache is full, removes the session of
  /// the host that was added first.
  void keep(const std::string& host, SSL_SESSION* session);
  /// If there is a session of the host, makes `connection` offer it to the server. Returns false if OpenSSL has failed.
  [[nodiscard]] auto offer(const std::string& host, SSL* connection) const -> bool;

 private:
  const std::size_t max_sessions_;
  mutable std::mutex mutex_;
  // The members below are guarded by `mutex_`.
  std::unordered_map<std::string, std::string> known_;
  std::deque<std::string> hosts_;  // the hosts of `known_`, oldest first
};

}  // namespace braid::detail
