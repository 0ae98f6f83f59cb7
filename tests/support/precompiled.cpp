// tests/support/precompiled.cpp: a test program without a test case, which must fail; it owns the precompiled header.
