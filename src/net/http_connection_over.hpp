// src/net/http_connection_over.hpp: declares a server's connection over a plain socket or over TLS.
#pragma once

#include "http_connection.hpp"

#include <braid/io/tls.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace braid::detail {

template <transport Stream>
class http_connection_over final : public http_connection {
 public:
  http_connection_over(http_service& service, Stream stream);

  /// Serves requests until either side ends the connection, and returns false. Returns true if the client has begun to
  /// speak HTTP/2.
  /// Errors: throws if an allocation fails; the caller must then call `break_off`.
  auto run() -> task<bool>;
  /// Returns the bytes that have arrived and were not parsed; `take_stream` returns the stream. Requires that `run` has
  /// returned true.
  auto take_received() -> std::string;
  auto take_stream() noexcept -> Stream { return std::move(stream_); }
  /// Resets the connection instead of closing it normally, so that the peer does not mistake a partial answer for a
  /// complete one.
  void break_off() const noexcept;

  auto read_body() -> task<result<std::string_view>> override;
  auto write(std::string_view piece) -> task<result<void>> override;

 private:
  /// Says whether the transport has a close notice, so that a regular end can be distinguished from a cut.
  static constexpr bool announces_its_end = std::same_as<Stream, tls_stream>;

  [[nodiscard]] static auto cut_is_end(result<std::size_t> got) noexcept -> result<std::size_t>;
  auto flush() -> task<result<void>>;
  auto announce_end() -> task<void>;
  auto linger() -> task<void>;

  Stream stream_;
};

extern template class http_connection_over<stream_socket>;
extern template class http_connection_over<tls_stream>;

}  // namespace braid::detail
