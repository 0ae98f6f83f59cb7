// braid/thread/detail/field_tie.hpp: creates references to all fields of a plain struct.
#pragma once

#include <cstddef>
#include <tuple>

namespace braid::detail {

/// Returns references to the fields of `object`, in order. `Count` is the number of fields, at most 32.
/// The function has a branch for each count, because a structured binding must name all fields, and cannot introduce a
/// pack before C++26.
// clang-format off
template <std::size_t Count, typename T>
constexpr auto tie_fields([[maybe_unused]] T& object) noexcept {  // NOLINT(readability-function-size)
  if constexpr (Count == 0) {
    return std::tuple<>();
  } else if constexpr (Count == 1) { auto& [a] = object; return std::tie(a);
  } else if constexpr (Count == 2) { auto& [a,b] = object; return std::tie(a,b);
  } else if constexpr (Count == 3) { auto& [a,b,c] = object; return std::tie(a,b,c);
  } else if constexpr (Count == 4) { auto& [a,b,c,d] = object; return std::tie(a,b,c,d);
  } else if constexpr (Count == 5) { auto& [a,b,c,d,e] = object; return std::tie(a,b,c,d,e);
  } else if constexpr (Count == 6) { auto& [a,b,c,d,e,f] = object; return std::tie(a,b,c,d,e,f);
  } else if constexpr (Count == 7) { auto& [a,b,c,d,e,f,g] = object; return std::tie(a,b,c,d,e,f,g);
  } else if constexpr (Count == 8) { auto& [a,b,c,d,e,f,g,h] = object; return std::tie(a,b,c,d,e,f,g,h);
  } else if constexpr (Count == 9) { auto& [a,b,c,d,e,f,g,h,i] = object; return std::tie(a,b,c,d,e,f,g,h,i);
  } else if constexpr (Count == 10) { auto& [a,b,c,d,e,f,g,h,i,j] = object; return std::tie(a,b,c,d,e,f,g,h,i,j);
  } else if constexpr (Count == 11) { auto& [a,b,c,d,e,f,g,h,i,j,k] = object; return std::tie(a,b,c,d,e,f,g,h,i,j,k);
  } else if constexpr (Count == 12) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l);
  } else if constexpr (Count == 13) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m);
  } else if constexpr (Count == 14) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n);
  } else if constexpr (Count == 15) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o);
  } else if constexpr (Count == 16) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p);
  } else if constexpr (Count == 17) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q);
  } else if constexpr (Count == 18) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r);
  } else if constexpr (Count == 19) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s);
  } else if constexpr (Count == 20) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t);
  } else if constexpr (Count == 21) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u);
  } else if constexpr (Count == 22) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v);
  } else if constexpr (Count == 23) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w);
  } else if constexpr (Count == 24) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x);
  } else if constexpr (Count == 25) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y);
  } else if constexpr (Count == 26) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z);
  } else if constexpr (Count == 27) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A);
  } else if constexpr (Count == 28) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B);
  } else if constexpr (Count == 29) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C);
  } else if constexpr (Count == 30) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C,D] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C,D);
  } else if constexpr (Count == 31) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C,D,E] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C,D,E);
  } else if constexpr (Count == 32) {
    auto& [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C,D,E,F] = object;
    return std::tie(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C,D,E,F);
  }
}
// clang-format on

}  // namespace braid::detail
