// rankd/engine/caching/cached_parts.cpp: computes cache keys, runs each missing part once, and wakes the tasks that
// wait for it.
#include <rankd/engine/detail/cached_parts.hpp>

#include <rankd/engine/detail/request_state.hpp>
#include <rankd/rows/copied_rows.hpp>
#include <rankd/store/packed.hpp>

#include <braid/coro/synchronization.hpp>

#include <exception>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

namespace rankd {
namespace {

void put(packed_writer& out, const scalar& value) {
  out.number(value.index());
  std::visit(
      [&out](const auto& each) {
        using type = std::remove_cvref_t<decltype(each)>;
        if constexpr (std::is_same_v<type, bool>)
          out.number(each ? 1 : 0);
        else if constexpr (std::is_same_v<type, std::int64_t>)
          out.integer(each);
        else if constexpr (std::is_same_v<type, double>)
          out.real(each);
        else if constexpr (std::is_same_v<type, std::string>)
          out.text(each);
        else
          static_assert(std::is_same_v<type, std::monostate>);
      },
      value);
}

/// Adds the user to a cache key. A request without a user has its own cache entry, because the part may skip nodes that
/// read the user.
void put(packed_writer& out, const std::optional<row_id>& user) {
  if (!user) return out.number(std::variant_size_v<row_id>);
  out.number(user->index());
  if (const auto* text = std::get_if<std::string>(&*user))
    out.text(*text);
  else
    out.integer(std::get<std::int64_t>(*user));
}

/// Returns the cache key. It contains everything that the rows depend on, except the contents of stores without
/// generations.
auto key_of(const bound_cache& cache, const rank_request& request, const pinned_stores& stores) -> std::string {
  std::string key = cache.digest;
  packed_writer out(key);
  out.number(stores.version);
  if (cache.reads_user) put(out, request.user_id);
  for (const std::size_t param : cache.params) put(out, request.params[param]);
  return key;
}

/// Returns a copy of a request with only the fields that a part of a plan reads. Keeps the ids that identify the
/// request in traces.
auto request_of_part(const rank_request& request) -> rank_request {
  rank_request out;
  out.request_id = request.request_id;
  out.engine_request_id = request.engine_request_id;
  out.trace_id = request.trace_id;
  out.plan = request.plan;
  out.time = request.time;
  out.user_id = request.user_id;
  out.params = request.params;
  return out;
}

}  // namespace

/// A run of a part (a cached node together with the nodes that it depends on), in progress or finished.
struct cached_parts::flight {
  flight(std::string_view cache_key, std::shared_ptr<const bound_plan> p, const bound_cache& c,
         const rank_request& request, pinned_stores pinned, braid::time_point now)
      : key(cache_key),
        plan(std::move(p)),
        cache(&c),
        asked(request_of_part(request)),
        stores(std::move(pinned)),
        begun(now) {}

  std::string key;
  std::shared_ptr<const bound_plan> plan;
  const bound_cache* cache;  // of the plan
  rank_request asked;
  pinned_stores stores;
  braid::time_point begun;
  part_result result;
  std::exception_ptr thrown;
  braid::event landed;
  std::size_t waiting = 0;
  bool renews = false;  // continues although no task waits for it
  bool is_given_up = false;
  braid::scope* inside = nullptr;  // the scope of its task, while it runs
};

/// Counts a task that waits for a part. If all tasks stop waiting before the rows are ready, the last task stops the
/// part, unless the part refreshes stale rows.
struct cached_parts::waiting {
  waiting(cached_parts& owner, flight& one) noexcept : owner_(&owner), one_(&one) { ++one.waiting; }
  waiting(const waiting&) = delete;
  auto operator=(const waiting&) -> waiting& = delete;
  ~waiting() {
    if (--one_->waiting == 0 && !one_->renews && !one_->landed.is_set()) owner_->give_up(*one_);
  }

 private:
  cached_parts* owner_;
  flight* one_;
};

auto cached_parts::look_up(const std::shared_ptr<const bound_plan>& plan, const bound_cache& cache,
                           const rank_request& request, const pinned_stores& stores, braid::scope& root)
    -> cached_node {
  cached_node out;
  out.key = key_of(cache, request, stores);
  out.rows = table_.find(out.key, cache.how.ttl + cache.how.stale);
  if (out.rows == nullptr) return out;
  out.age = table_.now() - out.rows->made;
  if (out.age < cache.how.ttl) {
    out.use = cache_use::hit;
    table_.count_hit();
    return out;
  }
  out.use = cache_use::stale;
  table_.count_stale();
  if (may_renew(out.key)) begin(plan, cache, request, stores, out.key, root, true);
  return out;
}

auto cached_parts::make(const std::shared_ptr<const bound_plan>& plan, const bound_cache& cache,
                        const rank_request& request, const pinned_stores& stores, cached_node& into)
    -> braid::task<void> {
  braid::scope& around = co_await braid::this_scope();
  std::shared_ptr<flight> one = find(into.key);
  into.use = one == nullptr ? cache_use::miss : cache_use::shared;
  if (one == nullptr) {
    table_.count_miss();
    one = begin(plan, cache, request, stores, into.key, around.where().root(), false);
  } else {
    table_.count_shared();
  }
  const waiting counted(*this, *one);
  if (!one->landed.is_set()) co_await one->landed;
  if (one->thrown) std::rethrow_exception(one->thrown);
  into.rows = one->result.rows;
  into.error = one->result.error;
}

auto cached_parts::find(std::string_view key) const -> std::shared_ptr<flight> {
  const auto found = under_way_.find(key);
  return found == under_way_.end() ? nullptr : found->second;
}

auto cached_parts::may_renew(std::string_view key) const -> bool {
  return renewals_ < max_renewals && find(key) == nullptr && !table_.has_failed_lately(key);
}

/// Starts a run of a part. If the run cannot be started, removes the run from the table, so that no other task waits
/// for it.
auto cached_parts::begin(const std::shared_ptr<const bound_plan>& plan, const bound_cache& cache,
                         const rank_request& request, const pinned_stores& stores, std::string_view key,
                         braid::scope& root, bool renews) -> std::shared_ptr<flight> {
  auto one = std::make_shared<flight>(key, plan, cache, request, stores, table_.now());
  under_way_.insert_or_assign(one->key, one);
  one->renews = renews;
  if (renews) ++renewals_;
  try {
    root.spawn(fly(*this, one));
  } catch (...) {
    give_up(*one);
    if (renews) --renewals_;
    throw;
  }
  return one;
}

/// Finishes a run of a part. Later requests find the rows in the table, or run the part again.
void cached_parts::land(flight& one) {
  const auto found = under_way_.find(one.key);
  if (found != under_way_.end() && found->second.get() == &one) under_way_.erase(found);
  if (one.renews) {
    --renewals_;
    if (one.result.rows == nullptr) table_.note_failure(one.key);
  }
  one.landed.set();
}

void cached_parts::give_up(flight& one) {
  one.is_given_up = true;
  const auto found = under_way_.find(one.key);
  if (found != under_way_.end() && found->second.get() == &one) under_way_.erase(found);
  if (one.inside != nullptr) one.inside->request_stop();
}

/// Copies the rows and stores the copy in the cache, because the memory of the run is much larger than the rows. If
/// there are too many rows to store, the waiting tasks share the memory of the run.
void cached_parts::keep(const flight& one, const ranking& answer, part_result& into) {
  auto made = std::make_shared<kept_rows>(one.begun);
  const bool fits = answer.rows.size() <= one.cache->how.max_rows;
  if (fits) {
    made->rows = copied_rows(answer.rows, made->memory);
  } else {
    made->rows = answer.rows;
    made->run = answer.memory;
  }
  const std::span<const node_slot> nodes = answer.memory->nodes;
  for (node_index at = 0; at < nodes.size(); ++at)
    if (nodes[at].malformed_ids + nodes[at].malformed_values != 0)
      made->malformed.push_back({at, nodes[at].malformed_ids, nodes[at].malformed_values});
  into.rows = made;
  if (fits && table_.keep(one.key, std::move(made))) return;
  table_.count_refused();
  table_.note_failure(one.key);
}

auto cached_parts::run(cached_parts& owner, std::shared_ptr<flight> one) -> braid::task<void> {
  auto work = owner.run_(one->plan, *one->cache, one->asked, one->stores);
  const ranking answer = co_await std::move(work);
  if (answer.error)
    one->result.error = answer.error;
  else
    owner.keep(*one, answer, one->result);
  owner.land(*one);
}

/// Runs a part. The part runs in the root scope of the loop, because the task that started it may end before the other
/// waiting tasks. The part has a scope of its own, so that it can be stopped alone.
auto cached_parts::fly(cached_parts& owner, std::shared_ptr<flight> one) -> braid::task<void> {
  if (one->is_given_up) co_return;
  braid::scope& around = co_await braid::this_scope();
  braid::scope inside(around);
  try {
    one->inside = &inside;
    inside.spawn(run(owner, one));
    co_await inside.join();
  } catch (...) {
    one->thrown = std::current_exception();
  }
  one->inside = nullptr;
  if (!one->landed.is_set()) owner.land(*one);
}

}  // namespace rankd
