// tests/rankd/store/asking.hpp: asks a store a question of one kind, as a task with that kind of answer.
#pragma once

#include <rankd/store/store.hpp>

#include <braid/base/arena.hpp>
#include <braid/coro/task.hpp>

namespace rankd::testing {

template <typename Question>
auto ask_store(store& from, Question question, braid::arena& memory)
    -> braid::task<store_result<typename Question::answer>> {
  co_return answer_to<Question>(co_await from.ask(question, memory));
}

}  // namespace rankd::testing
