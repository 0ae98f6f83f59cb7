// tests/refused/exceptions.cpp: a program without exceptions gives one sentence.
// flags: -fno-exceptions
// errors: exactly
// says: braid needs exceptions: compile without -fno-exceptions
// says: braid/needs_exceptions
#include <braid/braid.hpp>
