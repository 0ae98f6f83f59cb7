// bench/threads/registry.cpp: what a registration costs, and queries over 1 000 entries beside loops written by hand.
#include <braid/thread/registration.hpp>
#include <braid/thread/registry.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace {

using braid::registration;
using braid::thread_entry;
using braid::thread_registry;

using threads = braid::thread_query;
using nanoseconds = std::chrono::duration<double, std::nano>;

constexpr std::size_t entries = 1'000;

struct effort {
  int rounds;
  int repeats;  // of what is measured, in a round
};

/// Keeps the compiler from leaving out what nobody looks at.
void use(const auto& value) { asm volatile("" : : "r"(&value) : "memory"); }

template <typename Fn>
auto nanoseconds_each(int repeats, const Fn& fn) -> double {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) fn();
  return nanoseconds(std::chrono::steady_clock::now() - begin).count() / repeats;
}

auto median(std::vector<double> samples) -> double {
  std::ranges::sort(samples);
  return samples[samples.size() / 2];
}

/// Measures both in turn, prints medians, also of the ratio in a round, and ends the program when their answers differ.
template <typename Query, typename Loop>
void compare(const char* name, effort how, const Query& query, const Loop& loop) {
  if (query() != loop()) {
    std::fprintf(stderr, "threads/registry/%s: the answers differ\n", name);
    std::exit(1);
  }
  std::vector<double> queries;
  std::vector<double> loops;
  std::vector<double> ratios;
  for (int round = 0; round < how.rounds; ++round) {
    queries.push_back(nanoseconds_each(how.repeats, [&] { use(query()); }));
    loops.push_back(nanoseconds_each(how.repeats, [&] { use(loop()); }));
    ratios.push_back(queries.back() / loops.back());
  }
  std::printf("threads/registry/%-16s query %9.0f ns  loop %9.0f ns  ratio %.2f\n", name, median(queries),
              median(loops), median(ratios));
}

void measure_registration(const char* name, effort how, const thread_registry& registry) {
  std::vector<double> samples;
  for (int round = 0; round < how.rounds; ++round)
    samples.push_back(nanoseconds_each(how.repeats, [&] {
      const registration here(registry, {.tag = "io", .name = "reader"});
      use(here);
    }));
  std::printf("threads/registry/%-16s %9.0f ns for registering and unregistering\n", name, median(samples));
}

void measure_queries(effort how, const threads& all, const std::vector<thread_entry>& snapshot) {
  compare(
      "count", how, [&] { return all.where<&thread_entry::tag>("io").count(); },
      [&] {
        std::size_t total = 0;
        for (const thread_entry& entry : snapshot) total += entry.tag == "io" ? 1 : 0;
        return total;
      });
  compare(
      "project", how, [&] { return all.where<&thread_entry::tag>("io").project<&thread_entry::tid>().to_vector(); },
      [&] {
        std::vector<::pid_t> ids;
        for (const thread_entry& entry : snapshot)
          if (entry.tag == "io") ids.push_back(entry.tid);
        return ids;
      });
  compare(
      "find_last", how, [&] { return all.find_by<&thread_entry::generation>(snapshot.back().generation); },
      [&]() -> std::optional<thread_entry> {
        for (const thread_entry& entry : snapshot)
          if (entry.generation == snapshot.back().generation) return entry;
        return std::nullopt;
      });
  compare(
      "skip_take_sum", how,
      [&] {
        std::uint64_t sum = 0;
        all.where_if<&thread_entry::name>([](std::string_view name) { return !name.empty(); })
            .skip(100)
            .take(800)
            .for_each([&sum](const thread_entry& entry) { sum += entry.generation; });
        return sum;
      },
      [&] {
        std::uint64_t sum = 0;
        std::size_t seen = 0;
        for (const thread_entry& entry : snapshot) {
          if (entry.name.empty() || seen++ < 100) continue;
          if (seen > 900) break;
          sum += entry.generation;
        }
        return sum;
      });
}

}  // namespace

/// `quick` as the only argument runs everything once, to see that it works.
int main(int count, char** arguments) {
  const bool quick = count > 1 && std::string_view(arguments[1]) == "quick";
  const effort how = quick ? effort{.rounds = 1, .repeats = 1} : effort{.rounds = 41, .repeats = 2'000};
  const thread_registry registry;
  measure_registration("register", how, registry);
  std::vector<std::unique_ptr<registration>> all;
  for (std::size_t i = 0; i < entries; ++i)
    all.push_back(std::make_unique<registration>(
        registry, braid::thread_label{.tag = i % 3 == 0 ? "io" : "compute", .name = "worker"}));
  measure_registration("register_1001st", how, registry);
  measure_queries(how, registry.snapshot(), registry.entries());
  const effort snapshots{.rounds = how.rounds, .repeats = std::max(1, how.repeats / 20)};
  compare("snapshot", snapshots, [&] { return registry.count(); }, [&] { return registry.entries().size(); });
}
