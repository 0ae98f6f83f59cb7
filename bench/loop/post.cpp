// bench/loop/post.cpp: what a task costs that other threads post to a loop, from the first post to the end of the last.
#include <bench/harness/rounds.hpp>
#include <bench/loop/contenders.hpp>

#include <braid/io/loop.hpp>
#include <braid/sync/parker.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace {

/// Counts itself. The last one stops the loop.
struct counted final : braid::job {
  counted() noexcept : job(&count_one) {}
  static void count_one(job& self, action) { static_cast<counted&>(self).tell(); }
  void tell() const {
    if (++*ran == expected) io->stop();
  }

  std::uint64_t* ran = nullptr;
  std::uint64_t expected = 0;
  braid::loop* io = nullptr;
};

struct run_of {
  braid::io_backend_kind kind;
  unsigned producers;
  std::size_t each;

  /// `produce(loop, ran)` is what each producer does.
  template <typename Produce>
  auto operator()(Produce produce) const -> std::uint64_t {
    const auto io = braid::loop::create({.backend = kind}).value();
    std::uint64_t ran = 0;
    std::vector<std::thread> threads;
    io->run([&] {
      for (unsigned i = 0; i < producers; ++i) threads.emplace_back([&, i] { produce(*io, ran, i); });
    });
    for (std::thread& thread : threads) thread.join();
    return ran;
  }
};

auto post_jobs(const run_of& how) -> bench::sample {
  std::vector<std::vector<counted>> jobs;
  for (unsigned i = 0; i < how.producers; ++i) jobs.emplace_back(how.each);
  return bench::timed([&] {
    return how([&](braid::loop& io, std::uint64_t& ran, unsigned producer) {
      for (counted& each : jobs[producer]) {
        each.ran = &ran;
        each.expected = how.producers * how.each;
        each.io = &io;
        static_cast<void>(io.try_post(each));
      }
    });
  });
}

auto post_closures(const run_of& how) -> bench::sample {
  return bench::timed([&] {
    return how([&](braid::loop& io, std::uint64_t& ran, unsigned) {
      const std::uint64_t expected = how.producers * how.each;
      const auto work = [&ran, &io, expected] {
        if (++ran == expected) io.stop();
      };
      for (std::size_t n = 0; n < how.each; ++n) static_cast<void>(braid::post(io, work));
    });
  });
}

}  // namespace

/// Here --workers is the number of threads that post.
auto main(int argc, char** argv) -> int {
  const bench::options how = bench::parse(argc, argv, {.size = 1'000'000}, "tasks");
  const auto ours = [&](auto post, braid::io_backend_kind kind) {
    return [&how, post, kind](unsigned producers) {
      return post(run_of{.kind = kind, .producers = producers, .each = how.size / producers});
    };
  };
  std::vector<bench::contender> all{
      {"jobs uring", ours(&post_jobs, braid::io_backend_kind::uring)},
      {"jobs epoll", ours(&post_jobs, braid::io_backend_kind::epoll)},
      {"closures", ours(&post_closures, braid::io_backend_kind::automatic)},
  };
#if defined(BENCH_UV)
  all.push_back({"libuv", [&how](unsigned producers) {
                   return bench::timed([&] { return bench::post_by_uv(producers, how.size / producers); });
                 }});
#endif
#if defined(BENCH_ASIO)
  all.push_back({"Boost.Asio", [&how](unsigned producers) {
                   return bench::timed([&] { return bench::post_by_asio(producers, how.size / producers); });
                 }});
#endif
  const unsigned even = how.size / 2 * 2;
  bench::compare_all({.name = "loop/post (workers: threads that post)", .items = double(even), .expected = even}, how,
                     all);
}
