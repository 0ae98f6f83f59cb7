// tests/base/symbols_test.cpp: functions that nobody exports have names, too.
#include <braid/trace/detail/hooks.hpp>
#include <braid/base/detail/symbols.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

using braid::detail::short_function_name;

namespace braid_test {
namespace {

[[gnu::noinline]] auto hidden_function(int number) -> int {
  asm volatile("" : "+r"(number));
  return number + 1;
}

}  // namespace
}  // namespace braid_test

TEST_CASE("a function of this program and one of the library are found by their addresses, an unknown one is not") {
  braid::detail::symbol_table names;
  const auto hidden = reinterpret_cast<std::uintptr_t>(&braid_test::hidden_function);
  CHECK(names.name(hidden) == "braid_test::(anonymous namespace)::hidden_function(int)");
  CHECK(names.name(hidden + 1) == "braid_test::(anonymous namespace)::hidden_function(int)");
  CHECK(names.name(reinterpret_cast<std::uintptr_t>(&braid::detail::trace_note_end)) ==
        "braid::detail::trace_note_end()");
  CHECK(names.name(16) == "unknown code");
}

TEST_CASE("by what was loaded where, functions and literals are found in the files, as those of another process") {
  const auto hidden = reinterpret_cast<std::uintptr_t>(&braid_test::hidden_function);
  const char* const text = "a literal of this test";
  const auto literal = reinterpret_cast<std::uintptr_t>(text);
  braid::detail::symbol_table names(braid::detail::symbol_table::all_loaded());
  CHECK(names.name(hidden) == "braid_test::(anonymous namespace)::hidden_function(int)");
  CHECK(names.literal(literal) == text);
  CHECK(names.literal(literal + 2) == "literal of this test");
  CHECK(names.literal(16) == "");
  braid::detail::symbol_table none({{.path = "/dev/zero", .base = 0, .begin = hidden, .end = hidden + 1}});
  CHECK(none.name(hidden) == "zero at " + std::to_string(hidden));
  CHECK(none.literal(hidden) == "");
  CHECK(none.name(literal) == "unknown code");
  CHECK(braid::detail::symbol_table::loads() > 0);
}

TEST_CASE("a name that cannot be demangled is cut to the names in front") {
  CHECK(short_function_name("_ZN5braid8when_allIJvvEQgtsZT_Li0EEENS_4taskEv.resume") == "braid::when_all<...>");
  CHECK(short_function_name("_ZN12_GLOBAL__N_14workEv") == "(anonymous namespace)::work");
  CHECK(short_function_name("_ZN99999999999999999999a") == "a");
  CHECK(short_function_name("_ZN") == "_ZN");
  CHECK(short_function_name("_ZN5") == "_ZN5");
}

TEST_CASE("the name of a function template does not begin with what it returns") {
  CHECK(short_function_name("int n::f<int>(int)") == "n::f<int>(int)");
  CHECK(short_function_name("braid::task<decltype ((((std::declval<g (h::*)(int)>)()).await)())> "
                            "braid::detail::call<h>(h) [clone .resume]") == "braid::detail::call<h>(h)");
  CHECK(short_function_name("decltype (auto) f<(1 > 0)>((anonymous namespace)::a)") ==
        "f<(1 > 0)>((anonymous namespace)::a)");
  CHECK(short_function_name("decltype(x) (anonymous namespace)::f<b>(b) const") ==
        "(anonymous namespace)::f<b>(b) const");
  CHECK(short_function_name("std::vector<a->b()> f<(a)1>()") == "f<(a)1>()");
  CHECK(short_function_name("auto f(int)::{lambda(auto:1)#1}::operator()<char>(char) const") ==
        "f(int)::{lambda(auto:1)#1}::operator()<char>(char) const");
  CHECK(short_function_name("bool n::operator< <int>(int)") == "n::operator< <int>(int)");
  CHECK(short_function_name("n::a::operator unsigned long() const") == "n::a::operator unsigned long() const");
  CHECK(short_function_name("my_operator f<int>(int)") == "f<int>(int)");
  CHECK(short_function_name("operators f<int>(int)") == "f<int>(int)");
  CHECK(short_function_name("f(unsigned long) const") == "f(unsigned long) const");
  CHECK(short_function_name("no function at all") == "no function at all");
  CHECK(short_function_name("a<b c<d e(") == "a<b c<d e(");
}

TEST_CASE("a job that a task goes on by is called resume, and one that an offload is made of as what it calls") {
  const std::string job = "(braid::job&, braid::job::action)";
  CHECK(short_function_name("braid::detail::offload_awaiter<f()::$_0>::call::act" + job) == "f()::$_0");
  CHECK(short_function_name("braid::detail::timed_call<f()::$_0>::act" + job) == "f()::$_0");
  CHECK(short_function_name("braid::detail::root_job<int (*)()>::act" + job) == "int (*)()");
  for (const char* const name : {"awaiter_base::resumed", "departure::arrived", "home_awaiter::arrived",
                                 "promise_base::came_home", "schedule_awaiter::came_home"})
    CHECK(short_function_name("braid::detail::" + std::string(name) + job) == "resume");
  CHECK(short_function_name("own::offload_awaiter<f>::call::act" + job) == "own::offload_awaiter<f>::call");
}

TEST_CASE("a job with a future is called as what it calls") {
  const auto name = [](const std::string& job) {
    return short_function_name("braid::detail::" + job + "::act(braid::job&, braid::job::action)");
  };
  const std::string bound = "spawned<int, braid::detail::stopped_by<void>, braid::detail::bound_call<";
  CHECK(name(bound + "main::$_2> >") == "main::$_2");
  CHECK(name(bound + "main::$_2>>") == "main::$_2");
  CHECK(name(bound + "main::{lambda(int, std::pair<int, char>)#1}, int, std::pair<int, char> > >") ==
        "main::{lambda(int, std::pair<int, char>)#1}");
  CHECK(name(bound + "n::adder<1, 2>, long> >") == "n::adder<1, 2>");
  CHECK(name(bound + "int (n::account::*)(int, int), n::account*, int, int> >") == "int (n::account::*)(int, int)");
  CHECK(name(bound + "(anonymous namespace)::f(a->b, c)::$_0> >") == "(anonymous namespace)::f(a->b, c)::$_0");
  CHECK(name("future_continuation<std::pair<int, long>, f()::{lambda(std::pair<int, long>)#1}, "
             "(braid::detail::continuation_mode)1, (braid::detail::continuation_takes)0>") ==
        "f()::{lambda(std::pair<int, long>)#1}");
  CHECK(name("spawned<int, int>") == "spawned<int, int>");
  CHECK(name("spawned<") == "spawned<");
}

TEST_CASE("the job of a thread that waits for a task has the name of the function that the thread called") {
  const std::string job = "::act(braid::job&, braid::job::action)";
  CHECK(short_function_name("braid::detail::sync_waiter<rankd::ranking>" + job) == "braid::sync_wait<rankd::ranking>");
  CHECK(short_function_name("braid::detail::sync_waiter<std::vector<int> >" + job) ==
        "braid::sync_wait<std::vector<int> >");
  CHECK(short_function_name("own::sync_waiter<int>" + job) == "own::sync_waiter<int>");
  const std::string large = "braid::detail::sync_waiter<" + std::string(300, 'x') + ">" + job;
  CHECK(short_function_name(large) == "braid::sync_wait<" + std::string(183, 'x'));
}

TEST_CASE("of a job's code what its function is stays") {
  CHECK(short_function_name("braid::detail::closure_job<main::$_0>::act(braid::job&, braid::job::action)") ==
        "main::$_0");
  CHECK(short_function_name("braid::detail::spawned_job<f()>::act(braid::job&, braid::job::action)") ==
        "spawned_job<f()>");
  CHECK(short_function_name("braid::detail::awaiter_base::resumed(braid::job&, braid::job::action)") == "resume");
  CHECK(short_function_name("sum_of(braid::channel<int>&) [clone .resume]") == "sum_of(braid::channel<int>&)");
  CHECK(short_function_name("sum_of(braid::channel<int>&) (.resume)") == "sum_of(braid::channel<int>&)");
  CHECK(short_function_name(
            "(anonymous namespace)::f((anonymous namespace)::f(int, g(char))::_ZN1fEi.Frame*) [clone .actor]") ==
        "(anonymous namespace)::f(int, g(char))");
  CHECK(short_function_name("f(other(int)::_Z1fi.Frame*) [clone .actor]") ==
        "f(other(int)::_Z1fi.Frame*) [clone .actor]");
  CHECK(short_function_name(std::string(300, 'x')).size() == 200);
}
