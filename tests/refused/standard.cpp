// tests/refused/standard.cpp: an older standard gives one sentence.
// flags: -std=c++20
// errors: exactly
// says: braid needs C++23: compile with -std=c++23 or later
// says: braid/needs_cpp23
#include <braid/braid.hpp>
