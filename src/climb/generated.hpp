// SPDX-License-Identifier: Apache-2.0
// climb/generated.hpp: the generated numbers that ladders are climbed on, and instances with one column of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "climb/problem.hpp"
#include "core/visit.hpp"
#include "system/pages.hpp"

namespace upsweep {

inline constexpr auto kNumberTypes = [] {
  std::array<Type, kTypeCount> types{};
  for (int i = 0; i < kTypeCount; ++i) types[static_cast<std::size_t>(i)] = static_cast<Type>(i);
  return types;
}();
inline constexpr Type kUsualNumberTypes[] = {Type::int32, Type::float32, Type::int64, Type::float64};
inline constexpr std::int64_t kUsualSizes[] = {1'000, 1'000'000, 10'000'000};
/// From lengths that fit a core's cache to lengths that fit no cache.
inline constexpr std::int64_t kSweep[] = {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18,
                                          1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28};
inline constexpr std::int64_t kLarge[] = {1 << 26};
inline constexpr Type kInt32AndFloat64[] = {Type::int32, Type::float64};
inline constexpr InputInfo kOneColumn[] = {{.name = "COLUMN"}};

/// Small whole numbers: sums of 10^8 do not overflow in 32 bits, and float sums are exact in any order.
template <class T>
void fill_whole(T* out, std::int64_t n) {
  std::mt19937_64 random(42);
  for (std::int64_t i = 0; i < n; ++i) {
    const int value = static_cast<int>(random() % 17);
    out[i] = static_cast<T>(std::is_unsigned_v<T> ? value : value - 8);
  }
}

template <class T>
void fill_fractions(T* out, std::int64_t n) {
  std::mt19937_64 random(43);
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53);
}

/// The elements of an instance: generated on huge pages, or a column as it was loaded.
template <class T>
class Elements {
 public:
  explicit Elements(std::int64_t n) : generated_(n), data_(generated_.data()) {}
  explicit Elements(const Column& column)
      : column_(column.data), data_(const_cast<T*>(static_cast<const T*>(column.data.get()))) {}

  [[nodiscard]] bool is_generated() const { return column_ == nullptr; }
  /// Only generated elements may be written.
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }

 private:
  cpu::Pages<T> generated_;
  std::shared_ptr<const void> column_;
  T* data_;
};

/// The common base of instances of one column and one type: scan's and reduce's.
template <class T>
class ColumnInstance : public Instance {
 public:
  /// Real columns are verified once. Generated floats are verified as fractions and then as whole numbers.
  [[nodiscard]] int fills() const override { return in_.is_generated() && std::is_floating_point_v<T> ? 2 : 1; }
  void fill(int which) override {
    if (!in_.is_generated()) return;
    is_exact_ = which == fills() - 1;
    if (is_exact_) {
      fill_whole(in_.data(), group.n);
    } else {
      fill_fractions(in_.data(), group.n);
    }
  }
  /// Sums of generated numbers fit in 32 bits.
  [[nodiscard]] bool is_checkable() const override {
    return std::is_integral_v<T> && (!in_.is_generated() || sizeof(T) >= 4);
  }

 protected:
  ColumnInstance(Elements<T> in, std::int64_t n, std::string_view problem, const std::string& input)
      : in_(std::move(in)), is_exact_(std::is_integral_v<T>) {
    group.title = std::string(problem) + " of " + grouped(n) + " " + std::string(name(type_of<T>()));
    group.input = input;
    group.type = type_of<T>();
    group.n = n;
  }

  Elements<T> in_;
  bool is_exact_;  ///< whether sums are exact, in any order
};

/// A problem with one column of any type, generated or real.
inline ProblemInfo column_problem(std::string_view name, std::vector<RungInfo> rungs) {
  return {.name = name,
          .rungs = std::move(rungs),
          .inputs = kOneColumn,
          .types = kNumberTypes,
          .usual_types = kUsualNumberTypes,
          .usual_sizes = kUsualSizes};
}

/// Visits an instance of every requested type and size, or the instance of the given column. `Made` is a template of
/// instances that are constructed from Elements and a length.
template <template <class> class Made>
void visit_columns(const ClimbRequest& request, Backend, const Problem::Visit& visit) {
  if (!request.input.empty()) {
    const Column& column = request.input[0];
    if (column.count == 0) throw Error(Code::empty, column.name + ": has no elements to climb on");
    visit_type(column.type, [&]<class T>(std::type_identity<T>) {
      Made<T> instance(Elements<T>(column), column.count, column.name);
      visit(instance);
    });
    return;
  }
  const ProblemInfo& info = problem(request.problem);
  for (const Type type : types_of(request, info)) {
    for (const std::int64_t n : sizes_of(request, info)) {
      visit_type(type, [&]<class T>(std::type_identity<T>) {
        Made<T> instance(Elements<T>(n), n, "");
        visit(instance);
      });
    }
  }
}

}  // namespace upsweep
