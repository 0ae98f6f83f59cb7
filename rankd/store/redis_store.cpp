// rankd/store/redis_store.cpp: sends batches as pipelines, reads replies, and keeps the connections of each loop.
#include <rankd/store/redis_store.hpp>

#include <rankd/store/detail/redis_failure.hpp>
#include <rankd/store/detail/redis_named.hpp>
#include <rankd/store/error.hpp>
#include <rankd/store/redis_options.hpp>

#include <braid/base/config.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/io/loop.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_options.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace rankd {
namespace {

using braid::redis_errc;
using braid::resp_type;
using braid::resp_value;

/// Converts an error reply to the error of the whole batch.
auto refusal(const resp_value& reply) -> std::unexpected<store_error> {
  const redis_errc code = braid::detail::parse_redis_error(reply.text());
  const std::error_code why = code == redis_errc::wrong_type ? std::error_code(store_errc::wrong_type) : code;
  return std::unexpected(store_error(why, reply.text()));
}

auto without_errors(std::span<const resp_value> replies) -> store_result<std::span<const resp_value>> {
  for (const resp_value& each : replies)
    if (each.is_error()) return refusal(each);
  return replies;
}

/// Returns the elements of an aggregate reply, or nothing if an element is not a text.
auto make_texts(const resp_value& reply) -> std::optional<std::span<const resp_value>> {
  const std::span<const resp_value> items = reply.items();
  const auto is_text = [](const resp_value& each) { return each.type() == resp_type::bulk_string; };
  if (!std::ranges::all_of(items, is_text)) return std::nullopt;
  return items;
}

/// Sorts the fields of a hash by name, because a server returns them in any order. The embedded store sorts them too.
auto list_fields(std::span<const resp_value> texts, braid::arena& arena) -> std::span<const hash_field> {
  const auto out = arena.uninitialized<hash_field>(texts.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = {texts[2 * i].text(), texts[2 * i + 1].text()};
  std::ranges::sort(out, {}, &hash_field::name);
  return out;
}

/// Returns the ids in the texts. Skips texts that are not valid ids.
auto list_ids(std::span<const resp_value> texts, braid::arena& arena) -> std::span<const std::int64_t> {
  const auto out = arena.uninitialized<std::int64_t>(texts.size());
  std::size_t used = 0;
  for (const resp_value& each : texts)
    if (const auto id = parse_element(each.text())) out[used++] = *id;
  return out.first(used);
}

/// Converts a question about ids to commands, and converts the replies of the server to an answer.
template <typename Question>
struct id_commands;

template <>
struct id_commands<field_read> {
  field_read question;

  [[nodiscard]] auto batch() -> braid::redis_id_batch {
    return {.name = "HGET",
            .prefix = question.keys.prefix,
            .ids = question.keys.ids,
            .rest = {&question.field, 1},
            .expected = braid::redis_replies::text};
  }
  [[nodiscard]] static auto read(std::span<const resp_value> replies, braid::arena& arena)
      -> store_result<store_answer> {
    const auto out = arena.filled(replies.size(), std::optional<std::string_view>());
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!replies[i].is_null()) out[i] = replies[i].text();
    return field_batch(out);
  }
};

template <>
struct id_commands<hash_read> {
  hash_read question;

  [[nodiscard]] auto batch() const -> braid::redis_id_batch {
    return {.name = "HGETALL",
            .prefix = question.keys.prefix,
            .ids = question.keys.ids,
            .rest = {},
            .expected = braid::redis_replies::texts};
  }
  [[nodiscard]] static auto read(std::span<const resp_value> replies, braid::arena& arena)
      -> store_result<store_answer> {
    const auto out = arena.filled(replies.size(), std::span<const hash_field>());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto texts = make_texts(replies[i]);
      if (!texts || texts->size() % 2 != 0) return braid::fail(redis_errc::unexpected_reply);
      out[i] = list_fields(*texts, arena);
    }
    return hash_batch(out);
  }
};

/// Requests at least one element, because a range in a Redis command cannot be empty.
template <>
struct id_commands<list_read> {
  list_read question;
  std::array<char, std::numeric_limits<std::uint32_t>::digits10 + 1> digits = {};
  std::array<std::string_view, 2> range = {};

  [[nodiscard]] auto batch() -> braid::redis_id_batch {
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), question.first - 1).ptr;
    range = {"0", std::string_view(digits.data(), end)};
    return {.name = "LRANGE",
            .prefix = question.keys.prefix,
            .ids = question.keys.ids,
            .rest = range,
            .expected = braid::redis_replies::texts};
  }
  [[nodiscard]] auto read(std::span<const resp_value> replies, braid::arena& arena) const
      -> store_result<store_answer> {
    const auto lists = arena.filled(replies.size(), std::span<const std::int64_t>());
    const auto malformed_of = arena.uninitialized<std::uint32_t>(replies.size());
    std::uint64_t malformed = 0;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const auto texts = make_texts(replies[i]);
      if (!texts || texts->size() > question.first) return braid::fail(redis_errc::unexpected_reply);
      lists[i] = list_ids(*texts, arena);
      malformed_of[i] = static_cast<std::uint32_t>(texts->size() - lists[i].size());
      malformed += malformed_of[i];
    }
    return id_batch{lists, malformed, malformed_of};
  }
};

/// Returns a task whose answer is known without asking the server.
auto answered(store_result<store_answer> answer) -> braid::task<store_result<store_answer>> { co_return answer; }

}  // namespace

redis_store::redis_store(redis_store_options options) : options_(std::move(options)) {
  BRAID_EXPECTS(options_.connections > 0, "a Redis store needs at least one connection");
}

template <typename Redis>
auto redis_store::keep(detail::per_loop<loop_connections>& registry, const braid::loop& loop, Redis& redis,
                       braid::redis_tracker* tracker) -> braid::task<void> {
  const detail::per_loop<loop_connections>::entry known(registry, loop, {.who = &redis, .tracker = tracker});
  braid::event never;
  co_await never;
}

/// Owns connections of a loop until the loop stops. In a cluster, connections for second attempts lead to masters. So
/// if a replica has not answered a read in time, the read is sent to the master of this replica.
auto redis_store::keep_connections(redis_store& owner, braid::loop& loop, read_attempt attempt,
                                   braid::redis_tracker* tracker) -> braid::task<void> {
  redis_address server = owner.options_.server;
  server.tracker = tracker;
  const bool is_second = attempt == read_attempt::second;
  detail::per_loop<loop_connections>& known = is_second ? owner.seconds_ : owner.loops_;
  if (server.is_cluster()) {
    braid::redis_cluster::options how = server.as_cluster();
    if (is_second) how.reads = braid::redis_cluster::reads::masters;
    braid::redis_cluster nodes(loop, std::move(how));
    auto keeping = keep(known, loop, nodes, tracker);
    co_await std::move(keeping);
  } else {
    braid::redis_pool pool(loop, server, is_second ? 1 : owner.options_.connections);
    auto keeping = keep(known, loop, pool, tracker);
    co_await std::move(keeping);
  }
}

/// Returns the connections of a loop, or null if the loop is stopping. Connections for second attempts report changes
/// of keys to the tracker of the first connections.
auto redis_store::find_connections(braid::home& home, read_attempt attempt) -> connections {
  detail::per_loop<loop_connections>& known = attempt == read_attempt::second ? seconds_ : loops_;
  if (const connections there = known.find(home).who; there != connections()) return there;
  open(home, attempt, loops_.find(home).tracker);
  return known.find(home).who;
}

void redis_store::open(braid::home& home, read_attempt attempt, braid::redis_tracker* tracker) {
  auto* const on = dynamic_cast<braid::loop*>(&home);
  BRAID_EXPECTS(on != nullptr, "a Redis store must be called by tasks of an event loop");
  on->spawn(keep_connections(*this, *on, attempt, tracker));
}

auto redis_store::report_changes(braid::home& home, braid::redis_tracker& to) -> bool {
  if (loops_.find(home).who != connections()) return false;
  open(home, read_attempt::first, &to);
  return loops_.find(home).who != connections();
}

/// Returns the connections for an attempt. Opens the connections for second attempts together with those for first
/// attempts, so that no second attempt waits for a connection.
auto redis_store::connections_for(braid::home& home, read_hedge hedge) -> connections {
  const connections first = find_connections(home, read_attempt::first);
  if (hedge.after == braid::duration::zero()) return first;
  const connections second = find_connections(home, read_attempt::second);
  return hedge.attempt == read_attempt::second ? second : first;
}

/// Returns the timeout of an attempt. The second attempt times out together with the first attempt, so that hedging
/// never makes a read longer.
auto redis_store::time_for(read_hedge hedge) const noexcept -> braid::duration {
  if (hedge.attempt == read_attempt::first) return braid::redis_pool::default_timeout;
  return std::max<braid::duration>(options_.server.request_timeout - hedge.after, std::chrono::milliseconds(1));
}

/// Returns the error, together with the server's message if the server refused the connection. There is no message if
/// the connections have ended with their loop.
auto redis_store::failed(std::error_code error, const braid::home& home, read_hedge hedge, braid::arena& arena)
    -> std::unexpected<store_error> {
  const connections whom = (hedge.attempt == read_attempt::second ? seconds_ : loops_).find(home).who;
  const std::string_view text = std::visit(
      [&](const auto* each) { return each == nullptr ? std::string_view() : each->refusal_of(error); }, whom);
  return std::unexpected(store_error(error, arena.copied(text)));
}

/// Sends a batch and waits for all of it. The first error reply is the error of the batch.
template <typename Question>
auto redis_store::ask_each(redis_store& self, Question question, braid::arena& arena)
    -> braid::task<store_result<store_answer>> {
  id_commands<Question> commands{question};
  const braid::redis_id_batch batch = commands.batch();  // points into `commands`
  const read_hedge hedge = question.keys.hedge;
  braid::scope& around = co_await braid::this_scope();
  const connections whom = self.connections_for(around.where(), hedge);
  if (whom == connections()) co_return braid::fail(braid::errc::closed);
  store_result<std::span<const resp_value>> replies;
  if (std::holds_alternative<braid::redis_cluster*>(whom)) {
    braid::redis_batch all(batch.expected);
    all.add_each(batch);
    auto running = run(self, all, hedge, arena);
    replies = co_await std::move(running);
  } else {
    const auto got = co_await std::get<braid::redis_pool*>(whom)->run(batch, arena, self.time_for(hedge));
    if (!got) co_return self.failed(got.error(), around.where(), hedge, arena);
    replies = without_errors(*got);
  }
  if (!replies) co_return std::unexpected(replies.error());
  co_return commands.read(*replies, arena);
}

auto redis_store::run(redis_store& self, const braid::redis_batch& batch, read_hedge hedge, braid::arena& arena)
    -> braid::task<store_result<std::span<const resp_value>>> {
  braid::scope& around = co_await braid::this_scope();
  const connections whom = self.connections_for(around.where(), hedge);
  if (whom == connections()) co_return braid::fail(braid::errc::closed);
  braid::result<std::span<const resp_value>> replies;
  if (auto* const* cluster = std::get_if<braid::redis_cluster*>(&whom)) {
    auto asking = (*cluster)->run(batch, arena, self.time_for(hedge));
    replies = co_await std::move(asking);
  } else {
    replies = co_await std::get<braid::redis_pool*>(whom)->run(batch, arena, self.time_for(hedge));
  }
  if (!replies) co_return self.failed(replies.error(), around.where(), hedge, arena);
  co_return without_errors(*replies);
}

auto redis_store::ask_named(redis_store& self, named_read question, braid::arena& arena)
    -> braid::task<store_result<store_answer>> {
  const auto spread = self.options_.server.is_cluster() ? detail::key_spread::by_slot : detail::key_spread::one_server;
  const braid::redis_batch batch = detail::make_commands(question, spread);
  const auto replies = co_await run(self, batch, question.hedge, arena);
  if (!replies) co_return std::unexpected(replies.error());
  const auto found = detail::make_answer(question, *replies, arena, spread);
  if (!found) co_return braid::fail(redis_errc::unexpected_reply);
  co_return *found;
}

auto redis_store::ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
  if (const auto* list = std::get_if<list_read>(&question); list != nullptr && list->first == 0)
    return answered(id_batch{arena.filled(list->keys.ids.size(), std::span<const std::int64_t>()), 0});
  return std::visit(
      [&]<typename Question>(const Question& question) {
        if constexpr (asks_ids<Question>)
          return ask_each(*this, question, arena);
        else if constexpr (std::same_as<Question, named_read>)
          return ask_named(*this, question, arena);
        else
          return answered(braid::fail(store_errc::wrong_type));
      },
      question);
}

auto redis_store::explain(const store_error& error) const -> store_failure {
  store_failure failure = wrong_type_failure(options_.endpoint_id);
  if (error != store_errc::wrong_type)
    failure = {std::string(detail::redis_failure_code(error)), "endpoint `" + options_.endpoint_id + "` at " +
                                                                   find_place(options_.server) + ": " +
                                                                   detail::failure_text(error)};
  if (options_.words == server_messages::shown && !error.server_text().empty())
    failure.message += "; " + detail::server_message(error.server_text());
  return failure;
}

}  // namespace rankd
