// SPDX-License-Identifier: Apache-2.0
// Objects with random content, made by walking Fields(): for property tests, benchmarks and
// fuzzers. Every value survives JSON: times carry as many digits as their JSON does, integers keep
// their text.
#pragma once

#include <string>

#include "api/fields.h"
#include "base/rng.h"

namespace sky::api {

class RandomFill {
 public:
  // At most `longest` elements a list or map, and about half of all members left at zero.
  explicit RandomFill(Rng& rng, uint64_t longest = 3) : rng_(rng), longest_(longest) {}

  template <class M>
  void operator()(std::string_view, M& member) {
    if (rng_.Below(2) == 0) Fill(member);
  }
  template <class M>
  void Always(std::string_view, M& member) {
    Fill(member);
  }

  void Fill(std::string& out) {
    static constexpr std::string_view kPieces[] = {
        "a", "n0", "example.com/gpu", " ", "\"", "\\", "\n", "\x01", "é", "☃", "0"};
    for (uint64_t left = rng_.Below(5); left > 0; --left)
      out += kPieces[rng_.Below(std::size(kPieces))];
  }
  void Fill(bool& out) { out = rng_.Below(2) == 0; }
  void Fill(int32_t& out) { out = static_cast<int32_t>(Number()); }
  void Fill(int64_t& out) { out = Number(); }
  void Fill(Quantity& out) {
    out = Quantity::Nanos(Int128{Number()} * (Int128{1} << rng_.Below(60)),
                          static_cast<Quantity::Format>(rng_.Below(3)));
  }
  void Fill(Time& out) { out.at = WallTime(std::chrono::seconds(rng_.Below(4'000'000'000))); }
  void Fill(MicroTime& out) {
    out.at = WallTime(std::chrono::microseconds(rng_.Below(4'000'000'000'000'000)));
  }
  void Fill(IntOrString& out) {
    out.is_int = rng_.Below(2) == 0;
    if (out.is_int) {
      out.text = std::to_string(Number());
    } else {
      Fill(out.text);
    }
  }
  template <class T>
  void Fill(std::optional<T>& out) {
    Fill(out.emplace());
  }
  template <class T>
  void Fill(std::vector<T>& out) {
    out.resize(rng_.Below(longest_ + 1));
    for (T& element : out) Fill(element);
  }
  template <class T>
  void Fill(FlatMap<T>& out) {
    for (uint64_t left = rng_.Below(longest_ + 1); left > 0; --left) {
      std::string key;
      Fill(key);
      Fill(out[key]);
    }
  }
  template <HasFields T>
  void Fill(T& out) {
    T::Fields(out, *this);
    if constexpr (requires { out.extra; }) {
      static constexpr std::string_view kJson[] = {
          "null", "true", "-7", "2.5", "\"\\\"☃\"", "[]", "{\"a\":[1,{}]}"};
      for (uint64_t left = rng_.Below(longest_ + 1); left > 0; --left)
        out.extra.members.emplace_back("later" + std::to_string(left),
                                       kJson[rng_.Below(std::size(kJson))]);
    }
  }

 private:
  // Of every size: near zero as often as near the ends of int64.
  int64_t Number() { return static_cast<int64_t>(rng_.Next()) >> rng_.Below(64); }

  Rng& rng_;
  uint64_t longest_;
};

template <class T>
T RandomObject(Rng& rng) {
  T object;
  RandomFill(rng).Fill(object);
  return object;
}

}  // namespace sky::api
