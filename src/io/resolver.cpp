// src/io/resolver.cpp: resolves names on threads that may block, and tries several addresses concurrently.
#include <braid/io/sockets.hpp>

#include <braid/base/config.hpp>
#include <braid/coro/bridge.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/spawn.hpp>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>

namespace braid {
namespace {

auto failure_of_lookup(int status) -> std::error_code {
  switch (status) {
    case EAI_SYSTEM: return last_system_error();
    case EAI_AGAIN: return std::make_error_code(std::errc::resource_unavailable_try_again);
    case EAI_MEMORY: return std::make_error_code(std::errc::not_enough_memory);
    default: return errc::unknown_host;
  }
}

auto with_port(const result<socket_address::list>& found, std::uint16_t port) -> result<socket_address::list> {
  if (!found) return found;
  socket_address::list all;
  for (const socket_address& each : *found) {
    const auto one = socket_address::ip(each.host(), port);
    if (one) all.push_back(*one);
  }
  return all;
}

/// The state of several concurrent attempts to connect to the addresses of one host. Only tasks of one loop use this
/// object.
struct tries {
  loop* home;
  stream_socket::options options;
  std::optional<stream_socket> made;
  std::error_code why_not;  // the error of the first attempt that failed
  std::size_t failed = 0;

  auto run(scope& scope, socket_address address, event& over) -> task<void> {
    auto one = co_await stream_socket::connect(*home, address, options);
    if (one && !made) {
      made = std::move(*one);
      scope.request_stop();
    } else if (!one && failed++ == 0) {
      why_not = one.error();
    }
    over.set();
  }

  static auto over(event& attempt_ended) -> task<void> { co_await attempt_ended; }
};

}  // namespace

auto detail::lookup_host(const std::string& name) -> result<socket_address::list> {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_ADDRCONFIG;
  addrinfo* first = nullptr;
  int status = ::getaddrinfo(name.c_str(), nullptr, &wanted, &first);
  if (status == EAI_NONAME || status == EAI_ADDRFAMILY || status == EAI_NODATA) {
    wanted.ai_flags = 0;  // a machine that has only a loopback interface has no configured address
    status = ::getaddrinfo(name.c_str(), nullptr, &wanted, &first);
  }
  if (status != 0) return fail(failure_of_lookup(status));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(first, &::freeaddrinfo);
  socket_address::list all;
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next)
    if (const auto one = socket_address::from_system(each->ai_addr, static_cast<socklen_t>(each->ai_addrlen)))
      if (one->is_ip() && std::ranges::find(all, *one) == all.end()) all.push_back(*one);
  if (all.empty()) return fail(errc::unknown_host);
  return all;
}

resolver::resolver(loop& loop, executor& blocking, resolver::options options)
    : loop_(&loop), blocking_(&blocking), options_(std::move(options)) {}

auto resolver::is_fresh(const answer& known) const -> bool {
  if (!known.future.is_ready()) return true;
  const duration age = loop_->now() - known.asked;
  try {
    return age < (known.future.get() ? options_.lifetime : options_.failed_lifetime);
  } catch (const std::exception&) {
    return false;  // it was refused, or memory was exhausted
  }
}

void resolver::make_room() {
  if (known_.size() < options_.max_names) return;
  std::erase_if(known_, [&](const auto& each) { return !is_fresh(each.second); });
  if (known_.empty() || known_.size() < options_.max_names) return;
  known_.erase(std::ranges::min_element(known_, {}, [](const auto& each) { return each.second.asked; }));
}

auto resolver::ask(const std::string& host) -> answer {
  BRAID_EXPECTS(loop_->is_current(), "a resolver may only be used by tasks of its own loop");
  if (const auto found = known_.find(host); found != known_.end()) {
    if (is_fresh(found->second)) return found->second;
    known_.erase(found);
  }
  make_room();
  answer asked{.future = spawn(*blocking_, options_.lookup, host), .asked = loop_->now()};
  known_.emplace(host, asked);
  return asked;
}

auto resolver::resolve(std::string host, std::uint16_t port) -> task<result<socket_address::list>> {
  if (const auto number = socket_address::ip(host, port)) co_return socket_address::list{*number};
  if (host.empty() || host.find('\0') != host.npos) co_return fail(errc::unknown_host);
  co_await resume_home();
  const answer asked = ask(host);
  auto copied = asked.future.then_inline([](const result<socket_address::list>& found) { return found; });
  try {
    co_return with_port(co_await std::move(copied), port);
  } catch (const std::system_error& refused) {
    co_return fail(refused.code());
  }
}

auto stream_socket::connect_to_first(loop& loop, socket_address::list addresses, stream_socket::options options,
                                     duration head_start) -> task<result<stream_socket>> {
  if (addresses.empty()) co_return fail(errc::invalid_argument);
  tries all{.home = &loop, .options = options, .made = {}, .why_not = {}, .failed = 0};
  std::vector<std::unique_ptr<event>> over;
  auto body = [&](scope& children) -> task<void> {
    for (const socket_address& each : addresses) {
      over.push_back(std::make_unique<event>());
      children.spawn(all.run(children, each, *over.back()));
      if (all.made) co_return;
      task<void> answered = tries::over(*over.back());
      static_cast<void>(co_await with_timeout(head_start, std::move(answered)));
    }
  };
  auto connected = with_scope(body);
  auto ended = co_await as_outcome(std::move(connected));
  if (all.made) co_return std::move(*all.made);
  if (ended.has_exception()) ended.take();
  if (all.failed != addresses.size()) co_await stop_here();  // the others were stopped
  co_return fail(all.why_not);
}

}  // namespace braid
