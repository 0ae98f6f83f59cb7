// tests/package/module/hello.cpp: the smallest program that imports braid.
#include <coroutine>
#include <cstdio>

import braid;

static auto answer() -> braid::task<int> { co_return 42; }

auto main() -> int { std::printf("%d\n", braid::spawn(answer()).get()); }
