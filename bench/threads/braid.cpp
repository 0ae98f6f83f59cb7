// bench/threads/braid.cpp: what a registration costs, and queries over many entries beside loops written by hand.
#include <bench/harness/program.hpp>

#include <braid/thread/registry.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

namespace {

using bench::parameters;
using bench::sample;
using braid::registration;
using braid::thread_entry;
using braid::thread_registry;

using threads = braid::thread_query;

/// A registry with so many entries; every third of them has the tag `io`.
class full_registry {
 public:
  explicit full_registry(std::uint64_t entries) {
    for (std::uint64_t i = 0; i < entries; ++i)
      all_.push_back(std::make_unique<registration>(
          registry, braid::thread_label{.tag = i % 3 == 0 ? "io" : "compute", .name = "worker"}));
  }

  thread_registry registry;

 private:
  std::vector<std::unique_ptr<registration>> all_;
};

auto registrations(const parameters& given) -> sample {
  const full_registry others(given.number("entries", 1'000));
  const std::uint64_t repeats = given.number("repeats", 20'000);
  return bench::timed(static_cast<double>(repeats), others.registry.count(), [&] {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const registration here(others.registry, {.tag = "io", .name = "reader"});
      asm volatile("" : : "r"(&here) : "memory");
    }
    return others.registry.count();
  });
}

/// What a query and a loop have in common: a snapshot, the entries of which they read, and a number as the answer.
struct subject {
  threads all;
  std::vector<thread_entry> snapshot;
};

using answer = auto (*)(const subject&) -> std::uint64_t;

template <answer Measured, answer Other>
auto queries(const parameters& given) -> sample {
  const full_registry registry(given.number("entries", 1'000));
  const std::uint64_t repeats = given.number("repeats", 2'000);
  const subject what{registry.registry.snapshot(), registry.registry.entries()};
  return bench::timed(static_cast<double>(repeats), Other(what) * repeats, [&] {
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < repeats; ++i) {
      total += Measured(what);
      asm volatile("" : "+r"(total) : : "memory");
    }
    return total;
  });
}

auto query_count(const subject& what) -> std::uint64_t { return what.all.where<&thread_entry::tag>("io").count(); }

auto loop_count(const subject& what) -> std::uint64_t {
  std::uint64_t total = 0;
  for (const thread_entry& entry : what.snapshot) total += entry.tag == "io" ? 1 : 0;
  return total;
}

template <typename Ids>
auto sum(const Ids& ids) -> std::uint64_t {
  return std::accumulate(ids.begin(), ids.end(), std::uint64_t{0});
}

auto query_project(const subject& what) -> std::uint64_t {
  return sum(what.all.where<&thread_entry::tag>("io").project<&thread_entry::tid>().to_vector());
}

auto loop_project(const subject& what) -> std::uint64_t {
  std::vector<decltype(thread_entry::tid)> ids;
  for (const thread_entry& entry : what.snapshot)
    if (entry.tag == "io") ids.push_back(entry.tid);
  return sum(ids);
}

auto query_find_last(const subject& what) -> std::uint64_t {
  const auto found = what.all.find_by<&thread_entry::generation>(what.snapshot.back().generation);
  return found ? found->generation : 0;
}

auto loop_find_last(const subject& what) -> std::uint64_t {
  for (const thread_entry& entry : what.snapshot)
    if (entry.generation == what.snapshot.back().generation) return thread_entry(entry).generation;
  return 0;
}

auto query_skip_take(const subject& what) -> std::uint64_t {
  std::uint64_t total = 0;
  what.all.where_if<&thread_entry::name>([](std::string_view name) { return !name.empty(); })
      .skip(100)
      .take(800)
      .for_each([&total](const thread_entry& entry) { total += entry.generation; });
  return total;
}

auto loop_skip_take(const subject& what) -> std::uint64_t {
  std::uint64_t total = 0;
  std::size_t seen = 0;
  for (const thread_entry& entry : what.snapshot) {
    if (entry.name.empty() || seen++ < 100) continue;
    if (seen > 900) break;
    total += entry.generation;
  }
  return total;
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender query = bench::braid_contender();
  const bench::contender loop = bench::reference("loop by hand");
  return bench::run_program(count, arguments, "threads",
                            {{"register", query, registrations},
                             {"count", query, queries<query_count, loop_count>},
                             {"count", loop, queries<loop_count, query_count>},
                             {"project", query, queries<query_project, loop_project>},
                             {"project", loop, queries<loop_project, query_project>},
                             {"find_last", query, queries<query_find_last, loop_find_last>},
                             {"find_last", loop, queries<loop_find_last, query_find_last>},
                             {"skip_take", query, queries<query_skip_take, loop_skip_take>},
                             {"skip_take", loop, queries<loop_skip_take, query_skip_take>}});
}
