// src/io/tls_stream.cpp: opens TLS connections, and describes them.
#include <braid/io/tls.hpp>

#include "tls_connection.hpp"

#include <braid/base/config.hpp>
#include <braid/coro/with_scope.hpp>

#include <utility>

namespace braid {
namespace {

auto open_connection(std::shared_ptr<const detail::tls_setup> setup, stream_socket socket, std::string host)
    -> task<result<std::unique_ptr<detail::tls_connection>>> {
  const duration limit = setup->handshake_timeout();
  auto engine = setup->open(std::move(host));
  if (!engine) co_return fail(engine.error());
  auto link = std::make_unique<detail::tls_connection>(std::move(socket), std::move(*engine));
  auto limited = with_timeout(limit, link->shake_hands());
  const result<void> shaken = co_await std::move(limited);
  if (!shaken) co_return fail(shaken.error());
  co_return link;
}

}  // namespace

tls_stream::tls_stream() = default;
tls_stream::tls_stream(tls_stream&& other) noexcept = default;
auto tls_stream::operator=(tls_stream&& other) noexcept -> tls_stream& = default;
tls_stream::~tls_stream() = default;
tls_stream::tls_stream(std::unique_ptr<detail::tls_connection> link) noexcept : connection_(std::move(link)) {}

auto tls_stream::connect(tls_context as, stream_socket through, std::string host) -> task<result<tls_stream>> {
  BRAID_EXPECTS(as.setup_->side() == detail::tls_side::client,
                "a TLS client needs a context that was created for clients");
  auto opened = open_connection(std::move(as.setup_), std::move(through), std::move(host));
  auto link = co_await std::move(opened);
  if (!link) co_return fail(link.error());
  co_return tls_stream(std::move(*link));
}

auto tls_stream::accept(tls_context as, stream_socket through) -> task<result<tls_stream>> {
  BRAID_EXPECTS(as.setup_->side() == detail::tls_side::server,
                "a TLS server needs a context that was created for servers");
  auto opened = open_connection(std::move(as.setup_), std::move(through), {});
  auto link = co_await std::move(opened);
  if (!link) co_return fail(link.error());
  co_return tls_stream(std::move(*link));
}

auto tls_stream::link() const noexcept -> detail::tls_connection& {
  BRAID_EXPECTS(connection_ != nullptr, "this stream is not open");
  return *connection_;
}

auto tls_stream::socket() const noexcept -> const stream_socket& { return link().socket(); }

auto tls_stream::read_some(std::span<std::byte> buffer) const -> task<result<std::size_t>> {
  return link().read_some(buffer);
}

auto tls_stream::read_exactly(std::span<std::byte> buffer) const -> task<result<void>> {
  return link().read_exactly(buffer);
}

auto tls_stream::write_all(std::span<const std::byte> bytes) const -> task<result<void>> {
  return link().write_one(bytes);
}

auto tls_stream::write_all(std::span<const std::span<const std::byte>> parts) const -> task<result<void>> {
  return link().write_parts(parts);
}

auto tls_stream::shutdown() const -> task<result<void>> { return link().shutdown(); }

auto tls_stream::try_shutdown() const noexcept -> bool { return link().try_shutdown(); }

void tls_stream::move_to(loop& other) noexcept { link().move_to(other); }

void tls_stream::close() noexcept { connection_.reset(); }

auto tls_stream::is_drained() const noexcept -> bool { return link().is_drained(); }

auto tls_stream::protocol() const noexcept -> std::string_view { return link().engine().protocol(); }
auto tls_stream::version() const noexcept -> tls_context::version { return link().engine().version(); }
auto tls_stream::resumed() const noexcept -> bool { return link().engine().resumed(); }
auto tls_stream::server_name() const noexcept -> std::string_view { return link().engine().server_name(); }
auto tls_stream::peer_certificate() const -> std::vector<std::byte> { return link().engine().peer_certificate(); }

}  // namespace braid
