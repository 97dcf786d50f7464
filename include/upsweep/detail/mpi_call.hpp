// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/mpi_call.hpp: what ranks exchange in a call: its signature, carries, and the first error.
#pragma once

// Disables MPI's former C++ bindings.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "upsweep/ladder.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"
#include "upsweep/segmented_reduce.hpp"

namespace upsweep::mpi {
namespace detail {

/// The version of what ranks send each other. Builds with different versions refuse to communicate.
inline constexpr std::uint32_t kProtocol = 2;

enum class Function : std::uint8_t {
  inclusive_scan,
  exclusive_scan,
  reduce,
  offsets,
  segmented_reduce,
  filtered_sum,
  find_subset,
  command  ///< a run of `upsweep … --mpi`
};

/// The name of a function, and the name of its arguments that must be equal on every rank.
struct FunctionInfo {
  std::string_view name;
  std::string_view arguments;
};
inline constexpr FunctionInfo kFunctions[] = {{"inclusive_scan", "init"},
                                              {"exclusive_scan", "init"},
                                              {"reduce", "init"},
                                              {"offsets", "strict"},
                                              {"segmented_reduce", "init"},
                                              {"filtered_sum", "limit"},
                                              {"find_subset", "target or options"},
                                              {"upsweep --mpi", "command lines"}};

/// The signature of a call, which the ranks compare before they begin.
struct Signature {
  static constexpr int kWords = 4;

  std::uint64_t protocol = kProtocol;
  std::uint64_t call = 0;       ///< from the lowest byte: function, types in and out, operator, overflow, reducer
  std::uint64_t sizes = 0;      ///< bytes of an element in and out, 16 bits each, and of a gathered value
  std::uint64_t arguments = 0;  ///< a hash

  [[nodiscard]] std::array<std::uint64_t, kWords> words() const { return {protocol, call, sizes, arguments}; }
  [[nodiscard]] std::uint8_t byte(int i) const { return static_cast<std::uint8_t>(call >> (8 * i)); }

  /// Returns a text such as "inclusive_scan of int32 into int64 by add, checked".
  [[nodiscard]] std::string text() const {
    if (protocol != kProtocol) return "a build of another upsweep (protocol " + std::to_string(protocol) + ")";
    std::string text(function().name);
    if (sizes != 0) {
      text += " of " + type_text(byte(1), static_cast<std::uint16_t>(sizes)) + " into " +
              type_text(byte(2), static_cast<std::uint16_t>(sizes >> 16)) + " by " + fold_text();
    }
    return byte(4) != 0 ? text + ", checked" : text;
  }
  [[nodiscard]] FunctionInfo function() const {
    return byte(0) < std::size(kFunctions) ? kFunctions[byte(0)] : FunctionInfo{"something unknown", "arguments"};
  }

 private:
  [[nodiscard]] std::string fold_text() const {
    const auto reducer = static_cast<Reducer>(byte(5));
    if (reducer != Reducer::fold) return std::string(name(reducer));
    return std::string(name(static_cast<Operator>(byte(3)))) + " operator";
  }
  static std::string type_text(std::uint8_t type, int bytes) {
    const auto known = static_cast<Type>(type);
    return known == Type::custom ? "elements of " + std::to_string(bytes) + " bytes" : std::string(name(known));
  }
};

/// FNV-1a over a sequence of values.
class Hash {
 public:
  template <class T>
  Hash& operator<<(const T& value) {
    // Padding bytes between members may be anything.
    if constexpr (std::is_arithmetic_v<T> || std::has_unique_object_representations_v<T>) {
      std::array<unsigned char, sizeof(T)> bytes;
      std::memcpy(bytes.data(), &value, sizeof(T));
      for (const unsigned char byte : bytes) sum_ = (sum_ ^ byte) * 0x100000001B3U;
    }
    return *this;
  }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0xCBF29CE484222325U;
};

constexpr std::uint64_t call_word(Function function, Type in, Type out, Operator op, Overflow overflow) {
  const auto at = [](auto value, int byte) { return static_cast<std::uint64_t>(value) << (8 * byte); };
  return at(function, 0) | at(in, 1) | at(out, 2) | at(op, 3) | at(overflow, 4);
}

/// The signature of a call without elements of a custom type.
inline Signature signature(Function function, Type type, std::uint64_t arguments) {
  return {.call = call_word(function, type, type, Operator::custom, Overflow::wrap), .arguments = arguments};
}

template <class In, class Out, class Op>
Signature signature(Function function, Overflow overflow, std::uint64_t arguments) {
  constexpr Operator kOp = upsweep::detail::kCompiledOperator<In, Out, Op>;
  return {.call = call_word(function, type_of<In>(), type_of<Out>(), kOp, overflow),
          .sizes = sizeof(In) | std::uint64_t{sizeof(Out)} << 16 | std::uint64_t{sizeof(ScanCarry<Out>)} << 32,
          .arguments = arguments};
}

/// The signature of a named reducer of lists.
template <class In, class Out, upsweep::detail::NamedReducer Op>
Signature signature() {
  constexpr auto kReducer = static_cast<std::uint64_t>(Op::kReducer);
  return {
      .call = call_word(Function::segmented_reduce, type_of<In>(), type_of<Out>(), Operator::custom, Overflow::wrap) |
              kReducer << 40,
      .sizes = sizeof(In) | std::uint64_t{sizeof(Out)} << 16};
}

/// Throws Error communication if an MPI function returned an error.
inline void check(int status, const char* function) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw Error(Code::communication, std::string(function) + ": " + text.data());
}

/// An Error as bytes.
struct Failure {
  Code code = Code::ok;
  std::int64_t index = kNoIndex;
  std::array<char, 496> text{};
};

/// A call of all ranks. They agree on its signature, exchange their carries, and end it with one outcome.
class Call {
 public:
  /// Throws Error invalid_argument if the ranks' signatures differ.
  Call(MPI_Comm comm, const Signature& mine) : comm_(comm) {
    if (comm == MPI_COMM_NULL) throw Error(Code::invalid_argument, "the communicator is MPI_COMM_NULL");
    int has_two_groups = 0;
    check(MPI_Comm_test_inter(comm, &has_two_groups), "MPI_Comm_test_inter");
    if (has_two_groups != 0) {
      throw Error(Code::invalid_argument, "an intercommunicator has no order of ranks: merge it first");
    }
    check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &size_), "MPI_Comm_size");
    agree(mine);
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Calls f(), unless this rank has failed already. An exception is kept for settle(). The index of an error is
  /// relative to `first`.
  template <class F>
  void run(std::int64_t first, const F& f) {
    if (failure_.code != Code::ok) return;
    try {
      f();
    } catch (const Error& error) {
      fail(error.code(), error.what(), error.index(), first);
    } catch (const std::bad_alloc&) {
      fail(Code::out_of_memory, "not enough memory");
    } catch (const std::exception& error) {  // thrown by a callback
      fail(Code::interrupted, error.what());
    }
  }

  /// Returns the value of every rank, in the order of ranks.
  template <class T>
  [[nodiscard]] std::vector<T> gather(const T& mine) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(size_));
    check(MPI_Allgather(&mine, sizeof(T), MPI_BYTE, all.data(), sizeof(T), MPI_BYTE, comm_), "MPI_Allgather");
    return all;
  }

  /// Copies rank 0's bytes to every rank.
  void broadcast(void* bytes, std::int64_t count) const { broadcast(bytes, count, 0); }

  [[nodiscard]] std::int64_t least(std::int64_t value) const {
    check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MIN, comm_), "MPI_Allreduce");
    return value;
  }

  /// If ranks have an Error, throws the Error of the lowest such rank on all ranks.
  void settle() {
    const auto first = static_cast<int>(least(failure_.code == Code::ok ? size_ : rank_));
    if (first == size_) return;
    broadcast(&failure_, sizeof failure_, first);
    throw Error(failure_.code, failure_.text.data(), failure_.index);
  }

  [[nodiscard]] MPI_Comm comm() const { return comm_; }

 private:
  void broadcast(void* bytes, std::int64_t count, int root) const {
    check(MPI_Bcast(bytes, static_cast<int>(count), MPI_BYTE, root, comm_), "MPI_Bcast");
  }

  void fail(Code code, const std::string& text, std::int64_t index = kNoIndex, std::int64_t first = 0) {
    std::string whole = "rank " + std::to_string(rank_) + ": " + text;
    if (index != kNoIndex && first != 0) {
      index += first;
      whole += " (over all ranks number " + std::to_string(index) + ")";
    }
    failure_.code = code;
    failure_.index = index;
    whole.copy(failure_.text.data(), failure_.text.size() - 1);
  }

  /// Words are equal if their maximum equals their minimum, which is the complement of the maximum complement.
  void agree(const Signature& mine) const {
    constexpr int kWords = Signature::kWords;
    const auto words = mine.words();
    std::array<std::uint64_t, std::size_t{2} * kWords> most;
    std::copy(words.begin(), words.end(), most.begin());
    std::transform(words.begin(), words.end(), most.begin() + kWords, [](std::uint64_t word) { return ~word; });
    check(MPI_Allreduce(MPI_IN_PLACE, most.data(), 2 * kWords, MPI_UINT64_T, MPI_MAX, comm_), "MPI_Allreduce");
    for (std::size_t i = 0; i < kWords; ++i) {
      if (most[i] != ~most[i + kWords]) throw_different(gather(mine));
    }
  }

  [[noreturn]] static void throw_different(const std::vector<Signature>& all) {
    const auto other =
        std::find_if(all.begin(), all.end(), [&](const Signature& s) { return s.words() != all[0].words(); });
    const std::string rank = "rank " + std::to_string(other - all.begin());
    std::string text = "the ranks do not make the same call: rank 0 ";
    if (other->text() != all[0].text()) {
      text += all[0].text() + ", " + rank + " " + other->text();
    } else {
      text += "and " + rank + " " + all[0].text() + " with different " + std::string(all[0].function().arguments);
    }
    throw Error(Code::invalid_argument, text);
  }

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  Failure failure_;
};

}  // namespace detail
}  // namespace upsweep::mpi
