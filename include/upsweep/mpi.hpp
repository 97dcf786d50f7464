// SPDX-License-Identifier: Apache-2.0
// upsweep/mpi.hpp: the library's calls over the ranks of an MPI communicator, each on its own share of the arrays.
//
//   MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
//   upsweep::mpi::inclusive_scan(MPI_COMM_WORLD, upsweep::par, mine, n, running);  // goes on where rank - 1 ends
//
// Header-only, over MPI's C API: link upsweep::mpi, which brings it (find_package(upsweep COMPONENTS mpi)).
//
// Shares    the arrays are those of all ranks, one after the other in the order of the ranks. A share may have any length, also
//           0, another one on every rank, and beyond 2^31. What is said of indices and positions below counts over all ranks.
// Calls     every rank of the communicator makes the same call: of the same function, types, operator, initial value and
//           overflow. Policies may differ else, in threads, rungs, and whether a rank is on a GPU. An operator of one's own is
//           taken to be the same on all, and need not commute.
// Travels   the carry of each rank (8 to 264 bytes), gathered by all and merged in the order of the ranks; no elements, but
//           the items of find_subset(). A call takes two all-reductions of up to 64 bytes and one or two all-gathers, and is
//           over on no rank before all have begun it. Only collectives are used, so that no message of the caller's is met.
// Floats    a share is folded as reduce.hpp does, sums and products with what rounding lost, and these folds are merged rank by
//           rank: the same bits for the same shares, whatever MPI, threads and alignment. Other shares: other bits.
// Errors    an error on any rank is thrown on every one: the same code, index and message, which names the rank. Of several
//           that of the lowest rank, and so the first bad element. Besides the library's: invalid_argument where the
//           ranks' calls or builds differ (found out before any work), and communication, where MPI reports an error and the
//           communicator's handler returns (MPI_ERRORS_RETURN): that one may be another on each rank. After an error outputs
//           are unspecified.
// Threads   of the ranks of one host share its cores: bind them (mpiexec --map-by), or say with_threads(). MPI is called by
//           the calling thread alone (MPI_THREAD_FUNNELED); calls at the same time need communicators of their own.
// GPUs      with a gpu::Policy and device memory as gpu.hpp has it: scans, reduce, offsets, filtered_sum, for compiled
//           operators. Carries come to the host, for which the stream is waited for.
#pragma once

// The C++ bindings that MPI once had are not wanted.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "upsweep/filtered_sum.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/offsets.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep::mpi {
namespace detail {

/// Changes with what ranks send each other, so that builds that would not understand each other say so.
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

/// Its name, and what its arguments are called that must be the same on every rank.
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

/// A call as the ranks compare it before they begin.
struct Signature {
  static constexpr int kWords = 4;

  std::uint64_t protocol = kProtocol;
  std::uint64_t call = 0;       ///< from the lowest byte: function, types in and out, operator, overflow, reducer
  std::uint64_t sizes = 0;      ///< bytes of an element in and out, 16 bits each, and of what is gathered
  std::uint64_t arguments = 0;  ///< a hash

  [[nodiscard]] std::array<std::uint64_t, kWords> words() const { return {protocol, call, sizes, arguments}; }
  [[nodiscard]] std::uint8_t byte(int i) const { return static_cast<std::uint8_t>(call >> (8 * i)); }

  /// "inclusive_scan of int32 into int64 by add, checked".
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

/// FNV-1a of some values.
class Hash {
 public:
  template <class T>
  Hash& operator<<(const T& value) {
    // Bytes between members may be anything.
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

/// Of a call without elements of a type of the caller's.
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

/// Of a named reducer of lists.
template <class In, class Out, upsweep::detail::NamedReducer Op>
Signature signature() {
  constexpr auto kReducer = static_cast<std::uint64_t>(Op::kReducer);
  return {
      .call = call_word(Function::segmented_reduce, type_of<In>(), type_of<Out>(), Operator::custom, Overflow::wrap) |
              kReducer << 40,
      .sizes = sizeof(In) | std::uint64_t{sizeof(Out)} << 16};
}

/// Throws Error communication for what an MPI function returned.
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

/// One call of all ranks: they agree on what it is, exchange their carries, and end it with one outcome.
class Call {
 public:
  /// Throws Error invalid_argument where the ranks' signatures differ.
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

  /// f(), unless something has failed on this rank already; what it throws is kept for settle(). An error's index counts from
  /// `first` on.
  template <class F>
  void run(std::int64_t first, const F& f) {
    if (failure_.code != Code::ok) return;
    try {
      f();
    } catch (const Error& error) {
      fail(error.code(), error.what(), error.index(), first);
    } catch (const std::bad_alloc&) {
      fail(Code::out_of_memory, "not enough memory");
    } catch (const std::exception& error) {  // of a callback
      fail(Code::interrupted, error.what());
    }
  }

  /// What every rank has, in their order.
  template <class T>
  [[nodiscard]] std::vector<T> gather(const T& mine) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(size_));
    check(MPI_Allgather(&mine, sizeof(T), MPI_BYTE, all.data(), sizeof(T), MPI_BYTE, comm_), "MPI_Allgather");
    return all;
  }

  /// Rank 0's bytes on every rank.
  void broadcast(void* bytes, std::int64_t count) const { broadcast(bytes, count, 0); }

  [[nodiscard]] std::int64_t least(std::int64_t value) const {
    check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MIN, comm_), "MPI_Allreduce");
    return value;
  }

  /// Throws the Error of the lowest rank that has one, on all of them.
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

  /// Words are equal where the greatest is also the least: the complement of the greatest complement.
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

template <class Policy, class In, class Out, class Op>
concept CanFold =
    !std::is_const_v<Out> && (std::same_as<Policy, upsweep::Policy> ||
                              (std::same_as<Policy, gpu::Policy> && upsweep::detail::RunsCompiled<In, Out, Op>));

/// carry ← carry ⊕ the elements. Returns the rung.
template <class In, class Out, class Op>
std::string_view fold_share(const Policy& policy, const In* in, std::int64_t n, const Op& op, ScanCarry<Out>& carry) {
  return reduce_into(policy, in, n, op, carry);
}
template <class In, class Out, class Op>
std::string_view fold_share(const gpu::Policy& policy, const In* in, std::int64_t n, const Op& op,
                            ScanCarry<Out>& carry) {
  const Out before = carry.any ? carry.total : identity<Out>(operator_of<Op, Out>());
  const auto all = upsweep::reduce(policy, in, n, before, op);
  if (n > 0) carry = carry_of(all.value);
  return all.rung;
}

/// The scan of a share that `before` precedes.
template <class In, class Out, class Op>
ScanResult scan_share(const Policy& policy, const In* in, std::int64_t n, Out* out, const Op& op, bool exclusive,
                      ScanCarry<Out> before) {
  return upsweep::detail::scan(policy, in, n, out, op, exclusive, before);
}
template <class In, class Out, class Op>
ScanResult scan_share(const gpu::Policy& policy, const In* in, std::int64_t n, Out* out, const Op& op, bool exclusive,
                      const ScanCarry<Out>& before) {
  // There a scan begins with a value: what rounding took from it is put back in before.
  const auto begin = before.any ? carry_of(upsweep::detail::value_of(before)) : before;
  return upsweep::detail::scan(policy, in, n, out, op, exclusive, begin);
}

template <class Carry>
struct Share {
  Carry carry;
  std::int64_t n;
};

/// Two passes over a share, as its scan cannot begin before all shares to its left are folded; one where there are none.
template <class Policy, class In, class Out, class Op>
ScanResult scan(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, Out* out, const Op& op,
                bool exclusive, ScanCarry<Out> before) {
  const Hash init = Hash() << before.any << before.total;
  const Function function = exclusive ? Function::exclusive_scan : Function::inclusive_scan;
  Call call(comm, signature<In, Out, Op>(function, policy.overflow, init.sum()));
  call.run(0, [&] {
    upsweep::detail::require_array(in, n, "input");
    upsweep::detail::require_array(out, n, "output");
  });
  Share<ScanCarry<Out>> mine{empty_carry<Out>(), std::max<std::int64_t>(n, 0)};
  const bool is_last = call.rank() + 1 == call.size();
  // By what reduce() chooses: a rung that is asked for is one of scan's ladder.
  if (!is_last) call.run(0, [&] { fold_share(policy.with_rung({}), in, n, op, mine.carry); });
  const auto shares = call.gather(mine);
  std::int64_t first = 0;
  for (int r = 0; r < call.rank(); ++r) {
    const auto& share = shares[static_cast<std::size_t>(r)];
    upsweep::detail::merge(op, before, share.carry);
    first += share.n;
  }
  ScanResult result{};
  call.run(first, [&] { result = scan_share(policy, in, n, out, op, exclusive, before); });
  call.settle();
  return result;
}

}  // namespace detail

/// out[i] = x0 ⊕ … ⊕ xi, of the elements of all ranks up to that one; n of them here.
template <class Policy, class In, class Out, class Op = Add>
  requires detail::CanFold<Policy, In, Out, Op>
ScanResult inclusive_scan(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, Out* out, Op op = {}) {
  return detail::scan(comm, policy, in, n, out, op, false, empty_carry<Out>());
}

/// Starts with `init`, before the elements of rank 0.
template <class Policy, class In, class Out, class Op>
  requires detail::CanFold<Policy, In, Out, Op>
ScanResult inclusive_scan(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, Out* out, Op op,
                          std::type_identity_t<Out> init) {
  return detail::scan(comm, policy, in, n, out, op, false, carry_of<Out>(init));
}

/// out[i] = init ⊕ x0 ⊕ … ⊕ xi-1.
template <class Policy, class In, class Out, class Op = Add>
  requires detail::CanFold<Policy, In, Out, Op>
ScanResult exclusive_scan(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, Out* out,
                          std::type_identity_t<Out> init, Op op = {}) {
  return detail::scan(comm, policy, in, n, out, op, true, carry_of<Out>(init));
}

/// init ⊕ x0 ⊕ … of all ranks, on every rank. Overflow::checked: the exact sum of all, kept in 128 bits, must fit.
template <class Policy, class In, class T, class Op = Add>
  requires detail::CanFold<Policy, In, T, Op>
Reduction<T> reduce(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, T init, Op op = {}) {
  using detail::Function;
  detail::Call call(comm,
                    detail::signature<In, T, Op>(Function::reduce, policy.overflow, (detail::Hash() << init).sum()));
  auto mine = call.rank() == 0 ? carry_of(init) : empty_carry<T>();
  std::string_view rung;
  call.run(0, [&] { rung = detail::fold_share(policy, in, n, op, mine); });
  const auto carries = call.gather(mine);
  call.settle();
  auto all = empty_carry<T>();
  for (const auto& carry : carries) upsweep::detail::merge(op, all, carry);
  if (std::is_integral_v<T> && policy.overflow == Overflow::checked && all.wraps != 0)
    upsweep::detail::throw_sum_overflow(type_of<T>());
  return {upsweep::detail::value_of(all), rung};
}

// ---- Offsets of lists.

namespace detail {

/// What a rank's lists come to on their own.
struct OffsetsShare {
  std::int64_t total = 0;
  std::int64_t lists = 0;
  bool is_bad = false;
};

/// What the lists of the ranks before one come to; nothing where one of theirs is bad or their total leaves int64, which is
/// for the first such rank to find.
inline std::optional<OffsetsCarry> lists_before(const std::vector<OffsetsShare>& shares, int rank) {
  OffsetsCarry before;
  for (int r = 0; r < rank; ++r) {
    const OffsetsShare& share = shares[static_cast<std::size_t>(r)];
    if (share.is_bad || __builtin_add_overflow(before.total, share.total, &before.total)) return std::nullopt;
    before.lists += share.lists;
  }
  return before;
}

}  // namespace detail

/// The offsets of the lists of all ranks, packed one after the other; of those of n lists here, n + 1. The result has the total
/// of all ranks. An error's index is the first bad list of all.
template <class Policy, ListBound T>
OffsetsResult offsets(MPI_Comm comm, const Policy& policy, const T* starts, const T* stops, std::int64_t n,
                      std::int64_t* offsets, bool strict = false) {
  using detail::Function;
  detail::Call call(comm, detail::signature(Function::offsets, type_of<T>(), strict ? 1 : 0));
  OffsetsResult result{};
  detail::OffsetsShare mine{.lists = std::max<std::int64_t>(n, 0)};
  call.run(0, [&] {
    OffsetsCarry alone;
    try {
      result = upsweep::offsets(policy, starts, stops, n, offsets, strict, alone);
    } catch (const Error& error) {
      if (error.index() == kNoIndex) throw;
      mine.is_bad = true;  // which list is the first one depends on the offset that they begin with
    }
    mine.total = alone.total;
  });
  const auto shares = call.gather(mine);
  // The lists once more, now that it is known what precedes them.
  call.run(0, [&] {
    auto before = detail::lists_before(shares, call.rank());
    if (!before || (before->total == 0 && !mine.is_bad)) return;
    result = upsweep::offsets(policy, starts, stops, n, offsets, strict, *before);
  });
  call.settle();
  result.total = 0;
  for (const auto& share : shares) result.total += share.total;
  return result;
}

// ---- Lists that cross borders.

namespace detail {

/// Where a rank's share and its lists lie among those of all.
struct ListsShare {
  std::int64_t elements = 0;
  std::int64_t lists = 0;
  bool are_adjacent =
      true;                ///< as offsets give them: where one rank's last list ends, the next rank's first one begins
  std::int64_t begin = 0;  ///< of the first list, where they are
  std::int64_t last = 0;   ///< the list that ends last, counted on this rank
  std::int64_t begin_of_last = 0;
  std::int64_t end = 0;   ///< of that one; 0 where there is none
  bool is_known = false;  ///< else the rank has failed, and this says nothing of where its lists are
};

/// The same of all ranks, from one of them.
class ListsLayout {
 public:
  ListsLayout(std::vector<ListsShare> shares, int rank) : shares_(std::move(shares)), rank_(rank) {
    for (int r = 0; r < rank; ++r) {
      first_element_ += share(r).elements;
      first_list_ += share(r).lists;
      if (share(r).end <= open_until_) continue;
      open_until_ = share(r).end;
      open_since_ = share(r).begin_of_last;
    }
  }

  [[nodiscard]] std::int64_t first_element() const { return first_element_; }
  [[nodiscard]] std::int64_t end_of_elements() const { return first_element_ + share(rank_).elements; }
  [[nodiscard]] std::int64_t first_list() const { return first_list_; }
  /// Whether the list that ends last goes on on later ranks.
  [[nodiscard]] bool crosses() const { return share(rank_).end > end_of_elements(); }
  /// How many elements at the beginning of this share are an earlier rank's list's.
  [[nodiscard]] std::int64_t head() const {
    return std::clamp<std::int64_t>(open_until_ - first_element_, 0, share(rank_).elements);
  }
  /// The position in that list of the first one.
  [[nodiscard]] std::int64_t position_of_head() const { return first_element_ - open_since_; }
  /// The ranks from the next one on whose heads belong to this rank's list.
  [[nodiscard]] int end_of_heads() const {
    int r = rank_ + 1;
    for (std::int64_t begin = end_of_elements(); r < size() && begin < share(rank_).end; ++r) {
      begin += share(r).elements;
    }
    return r;
  }

  /// Throws for the list that ends last where it goes on past all elements, or over another rank's list that goes on, too; where
  /// lists are adjacent, also where it does not end at the next one.
  void require_last_list() const {
    const ListsShare& mine = share(rank_);
    if (mine.lists == 0) return;
    std::int64_t border = end_of_elements();
    for (int r = rank_ + 1; r < size(); ++r) {
      const std::int64_t begin = border;
      border += share(r).elements;
      if (share(r).lists == 0) continue;
      if (mine.are_adjacent && share(r).are_adjacent) {
        if (share(r).begin == mine.end) return;
        refuse(Code::invalid_argument,
               ", but the next one, on rank " + std::to_string(r) + ", begins at " + std::to_string(share(r).begin));
      }
      // One that does not begin there is for that rank to report.
      const bool overlap = crosses() && begin < mine.end && share(r).end > border && share(r).begin_of_last >= begin &&
                           share(r).begin_of_last < mine.end;
      if (!overlap) continue;
      refuse(Code::unsupported, ", past " + std::to_string(share(r).begin_of_last) + ", where a list of rank " +
                                    std::to_string(r) + " begins that goes on on later ranks, too");
    }
    if (mine.end <= border) return;
    refuse(Code::stop_past_end, ", past the " + std::to_string(border) + " elements of all ranks");
  }

 private:
  [[nodiscard]] int size() const { return static_cast<int>(shares_.size()); }
  [[nodiscard]] const ListsShare& share(int r) const { return shares_[static_cast<std::size_t>(r)]; }
  [[noreturn]] void refuse(Code code, const std::string& why) const {
    const std::int64_t list = first_list_ + share(rank_).last;
    throw Error(code, "list " + std::to_string(list) + " ends at " + std::to_string(share(rank_).end) + why, list);
  }

  std::vector<ListsShare> shares_;
  int rank_;
  std::int64_t first_element_ = 0;
  std::int64_t first_list_ = 0;
  std::int64_t open_until_ = 0;  // where the list of an earlier rank ends that goes on farthest
  std::int64_t open_since_ = 0;
};

/// f(starts, stops), which are of the type that the lists say.
template <class F>
auto with_bounds(const Lists& lists, F f) {
  const auto call = [&]<class T>(T) {
    return f(static_cast<const T*>(lists.starts), static_cast<const T*>(lists.stops));
  };
  if (lists.type == Type::int32) return call(std::int32_t{});
  if (lists.type == Type::uint32) return call(std::uint32_t{});
  if (lists.type != Type::int64) upsweep::detail::no_such_value();
  return call(std::int64_t{});
}

inline bool is_null(const Lists& lists, std::int64_t list) { return lists.valid.is_given() && !lists.valid[list]; }

inline ListsShare lists_share(const Lists& lists, std::int64_t n) {
  if (lists.has_size)
    throw Error(Code::unsupported, "lists that cross ranks are given by offsets, or by starts and stops");
  upsweep::detail::require_lists(lists, n);
  ListsShare share{.elements = n, .lists = lists.count, .are_adjacent = lists.are_adjacent()};
  if (lists.count == 0) return share;
  with_bounds(lists, [&](const auto* starts, const auto* stops) {
    const auto take = [&](std::int64_t list) {
      share.last = list;
      share.begin_of_last = static_cast<std::int64_t>(starts[list]);
      share.end = static_cast<std::int64_t>(stops[list]);
    };
    if (share.are_adjacent) {
      share.begin = static_cast<std::int64_t>(starts[0]);
      return take(lists.count - 1);
    }
    for (std::int64_t i = 0; i < lists.count; ++i) {
      if (!is_null(lists, i) && starts[i] != stops[i] && static_cast<std::int64_t>(stops[i]) > share.end) take(i);
    }
  });
  return share;
}

/// The lists of a rank as positions in its share. One that crosses is left out, or empty.
class LocalLists {
 public:
  /// Every list must begin in the share, and all but the one that ends last end there.
  LocalLists(const Lists& lists, const ListsShare& share, const ListsLayout& layout)
      : valid_(lists.valid), count_(lists.count), are_adjacent_(share.are_adjacent) {
    starts_.resize(static_cast<std::size_t>(count_) + 1);
    stops_.resize(static_cast<std::size_t>(are_adjacent_ ? 0 : count_));
    with_bounds(lists, [&](const auto* starts, const auto* stops) {
      for (std::int64_t i = 0; i < count_; ++i) {
        const auto start = static_cast<std::int64_t>(starts[i]);
        const auto stop = static_cast<std::int64_t>(stops[i]);
        if (!are_adjacent_ && (is_null(lists, i) || start == stop)) continue;
        require_list(layout, share, i, start, stop);
        if (i == share.last) layout.require_last_list();
        put(i, start - layout.first_element(), stop - layout.first_element());
      }
    });
    begin_of_last_ = share.lists == 0 ? 0 : starts_[static_cast<std::size_t>(share.last)];
    if (!layout.crosses()) return;
    if (are_adjacent_) {
      --count_;
    } else {
      put(share.last, 0, 0);
    }
  }

  [[nodiscard]] Lists lists() const {
    if (!are_adjacent_) return Lists::by_bounds(starts_.data(), stops_.data(), count_);
    Mask valid = valid_;
    if (valid.is_given()) valid.length = count_;
    return Lists::by_offsets(starts_.data(), count_).with_validity(valid);
  }
  [[nodiscard]] std::int64_t begin_of_last() const { return begin_of_last_; }

 private:
  void put(std::int64_t list, std::int64_t start, std::int64_t stop) {
    starts_[static_cast<std::size_t>(list)] = start;
    (are_adjacent_ ? starts_[static_cast<std::size_t>(list) + 1] : stops_[static_cast<std::size_t>(list)]) = stop;
  }

  static void require_list(const ListsLayout& layout, const ListsShare& share, std::int64_t i, std::int64_t start,
                           std::int64_t stop) {
    const auto refuse = [&](Code code, const std::string& why) {
      const std::int64_t list = layout.first_list() + i;
      throw Error(code, "list " + std::to_string(list) + why, list);
    };
    const std::int64_t first = layout.first_element();
    const std::int64_t end = layout.end_of_elements();
    if (start < first || start > end) {
      refuse(Code::index_out_of_range, " begins at " + std::to_string(start) + ", but this rank has the elements " +
                                           std::to_string(first) + " to before " + std::to_string(end));
    }
    if (stop < start) {
      refuse(Code::stop_before_start,
             " stops at " + std::to_string(stop) + ", before its start " + std::to_string(start));
    }
    if (stop > end && i != share.last && !share.are_adjacent) {
      refuse(Code::unsupported, " goes on on later ranks, as list " + std::to_string(layout.first_list() + share.last) +
                                    " does: one list of a rank may");
    }
  }

  Mask valid_;
  std::int64_t count_;
  bool are_adjacent_;
  std::vector<std::int64_t> starts_;  // of adjacent lists their offsets
  std::vector<std::int64_t> stops_;   // of others
  std::int64_t begin_of_last_ = 0;
};

// ---- How lists are folded, and parts of one that crosses.

/// By an operator.
template <class In, class Out, class Op>
struct ListFold {
  using Part = ScanCarry<Out>;
  using Element = upsweep::detail::ElementType<In>;

  Op op;
  std::optional<Out> init;
  const Policy& policy;

  [[nodiscard]] Signature signature() const {
    Hash hash;
    hash << init.has_value();
    if (init) hash << *init;
    return detail::signature<Element, Out, Op>(Function::segmented_reduce, policy.overflow, hash.sum());
  }
  [[nodiscard]] Part begin() const {
    if (init) return carry_of<Out>(*init);
    if constexpr (operator_of<Op, Out>() == Operator::add || operator_of<Op, Out>() == Operator::custom) {
      return empty_carry<Out>();  // of which a sum is 0
    } else {
      return carry_of(identity<Out>(operator_of<Op, Out>()));
    }
  }
  [[nodiscard]] static Part nothing() { return empty_carry<Out>(); }

  /// The elements from `begin` to before `end`.
  void add(const In* content, std::int64_t begin, std::int64_t end, const Mask& valid, std::int64_t /*position*/,
           std::int64_t /*n*/, Part& part) const {
    const Policy folds = policy.with_rung({});  // a rung that is asked for is one of the lists' ladder
    if (!valid.is_given()) {
      reduce_into(folds, content + begin, end - begin, op, part);
      return;
    }
    constexpr std::size_t kMost = std::size_t{1} << 16;
    std::vector<Element> kept;
    for (std::int64_t i = begin; i < end; ++i) {
      if (valid[i]) kept.push_back(content[i]);
      if (kept.size() == kMost || i + 1 == end) {
        reduce_into(folds, kept.data(), std::ssize(kept), op, part);
        kept.clear();
      }
    }
  }
  void merge(Part& left, const Part& right) const { upsweep::detail::merge(op, left, right); }

  [[nodiscard]] Out value(const Part& part, std::int64_t list) const {
    if (std::is_integral_v<Out> && policy.overflow == Overflow::checked && part.wraps != 0) {
      throw Error(Code::overflow,
                  "the sum of list " + std::to_string(list) + " does not fit " + std::string(name(type_of<Out>())) +
                      ": reduce into a wider type, or let it wrap around",
                  list);
    }
    return upsweep::detail::value_of(part);
  }
  std::string_view whole_lists(const Lists& lists, const In* content, std::int64_t n, Out* out,
                               const Mask& valid) const {
    if constexpr (operator_of<Op, Out>() != Operator::custom) {
      if (!init) return upsweep::segmented_reduce(policy, lists, content, n, out, op, valid).rung;
    }
    return upsweep::segmented_reduce(policy, lists, content, n, out, op, *init, valid).rung;
  }
};

/// A count, a boolean, or a position with the element that is there.
template <class Element>
struct NamedPart {
  std::int64_t value;
  Element element;
  bool is_there;  ///< of positions
};

/// By a named reducer.
template <class In, class Out, upsweep::detail::NamedReducer Op>
struct NamedFold {
  using Element = upsweep::detail::ElementType<In>;
  using Part = NamedPart<Element>;
  static constexpr Reducer kReducer = Op::kReducer;
  static constexpr bool kIsPosition = kReducer == Reducer::argmin || kReducer == Reducer::argmax;

  const Policy& policy;

  [[nodiscard]] static Signature signature() {
    return detail::signature<Element, upsweep::detail::ElementType<Out>, Op>();
  }
  [[nodiscard]] static Part begin() { return nothing(); }
  [[nodiscard]] static Part nothing() { return {kReducer == Reducer::all ? 1 : kIsPosition ? -1 : 0, {}, false}; }

  /// `position`: in its list, of the first of the elements. There are n in `content`.
  void add(const In* content, std::int64_t begin, std::int64_t end, const Mask& valid, std::int64_t position,
           std::int64_t n, Part& part) const {
    const std::array<std::int64_t, 2> offsets{begin, end};
    Out out{};
    whole_lists(Lists::by_offsets(offsets.data(), 1), content, n, &out, valid);
    if constexpr (!kIsPosition) {
      merge(part, {static_cast<std::int64_t>(out), {}, true});
    } else if (out >= 0) {
      merge(part, {position + out, content[begin + out], true});
    }
  }
  static void merge(Part& left, const Part& right) {
    if constexpr (kIsPosition) {
      if (right.is_there && (!left.is_there || comes_first(right.element, left.element))) left = right;
    } else if constexpr (kReducer == Reducer::any) {
      left.value |= right.value;
    } else if constexpr (kReducer == Reducer::all) {
      left.value &= right.value;
    } else {
      static_assert(kReducer == Reducer::count || kReducer == Reducer::count_nonzero,
                    "a new reducer needs its merge here");
      left.value += right.value;
    }
  }
  [[nodiscard]] static Out value(const Part& part, std::int64_t /*list*/) { return static_cast<Out>(part.value); }
  std::string_view whole_lists(const Lists& lists, const In* content, std::int64_t n, Out* out,
                               const Mask& valid) const {
    return upsweep::segmented_reduce(policy, lists, content, n, out, Op{}, valid).rung;
  }

 private:
  /// Whether a later element is the one that is looked for. The first NaN is.
  static bool comes_first(Element later, Element earlier) {
    if constexpr (std::is_floating_point_v<Element>) {
      if (std::isnan(earlier) || std::isnan(later)) return !std::isnan(earlier);
    }
    return kReducer == Reducer::argmin ? later < earlier : earlier < later;
  }
};

template <class Fold, class In, class Out>
ListsResult reduce_lists(MPI_Comm comm, const Fold& fold, const Lists& lists, const In* content, std::int64_t n,
                         Out* out, const Mask& valid) {
  Call call(comm, fold.signature());
  ListsShare share;
  call.run(0, [&] {
    upsweep::detail::require_array(content, n, "content");
    upsweep::detail::require_mask(valid, n, "mask");
    share = lists_share(lists, n);
    upsweep::detail::require_array(out, lists.count, "output");
    share.is_known = true;
  });
  std::vector<ListsShare> shares = call.gather(share);
  // What earlier ranks would make of a share that is not known would be said first.
  if (!std::all_of(shares.begin(), shares.end(), [](const ListsShare& of) { return of.is_known; })) call.settle();
  const ListsLayout layout(std::move(shares), call.rank());

  ListsResult result{share.lists, {}};
  auto head = fold.nothing();
  auto last = fold.begin();
  std::optional<LocalLists> local;
  call.run(0, [&] {
    local.emplace(lists, share, layout);
    fold.add(content, 0, layout.head(), valid, layout.position_of_head(), n, head);
    if (layout.crosses()) fold.add(content, local->begin_of_last(), n, valid, 0, n, last);
  });
  call.run(layout.first_list(), [&] { result.rung = fold.whole_lists(local->lists(), content, n, out, valid); });
  const auto heads = call.gather(head);
  call.run(layout.first_list(), [&] {
    if (!layout.crosses()) return;
    for (int r = call.rank() + 1; r < layout.end_of_heads(); ++r) {
      fold.merge(last, heads[static_cast<std::size_t>(r)]);
    }
    out[share.last] = fold.value(is_null(lists, share.last) ? fold.begin() : last, share.last);
  });
  call.settle();
  return result;
}

}  // namespace detail

/// out[i] = init ⊕ the elements of list i. A list is its rank's on which it begins, and may end on another one. `lists` are those
/// that begin here, their bounds counted over all ranks; `out` has an element for each of them. Given by offsets, one rank's last
/// list ends where the next rank's first one begins. Given by starts and stops, they may lie in any order, overlap and have gaps,
/// but one list of a rank goes on on later ones, and none of these lists overlaps another of them. `valid`: false where an
/// element of this rank's is null. A list that goes on past its rank is folded as reduce() does.
template <class In, class Out, class Op>
ListsResult segmented_reduce(MPI_Comm comm, const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                             Out* out, Op op, std::type_identity_t<Out> init, const Mask& valid = {}) {
  return detail::reduce_lists(comm, detail::ListFold<In, Out, Op>{op, init, policy}, lists, content, n, out, valid);
}

/// The same without an initial value.
template <class In, class Out, class Op = Add>
  requires(!upsweep::detail::NamedReducer<Op>)
ListsResult segmented_reduce(MPI_Comm comm, const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                             Out* out, Op op = {}, const Mask& valid = {}) {
  static_assert(operator_of<Op, Out>() != Operator::custom,
                "an operator of your own needs an init: what an empty list gives");
  return detail::reduce_lists(comm, detail::ListFold<In, Out, Op>{op, std::nullopt, policy}, lists, content, n, out,
                              valid);
}

/// any, all, count, count_nonzero, argmin or argmax of every list.
template <class In, class Out, upsweep::detail::NamedReducer Op>
ListsResult segmented_reduce(MPI_Comm comm, const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                             Out* out, Op, const Mask& valid = {}) {
  return detail::reduce_lists(comm, detail::NamedFold<In, Out, Op>{policy}, lists, content, n, out, valid);
}

// ---- Sums of products.

/// Σ quantity[i]·price[i] where key[i] < limit, over the rows of all ranks, modulo 2^64; n rows here.
template <class Policy>
FilteredSum filtered_sum(MPI_Comm comm, const Policy& policy, const std::uint32_t* key, const std::int64_t* quantity,
                         const std::int64_t* price, std::int64_t n, std::uint32_t limit) {
  using detail::Function;
  detail::Call call(comm, detail::signature(Function::filtered_sum, Type::uint32, limit));
  FilteredSum mine{};
  call.run(0, [&] { mine = upsweep::filtered_sum(policy, key, quantity, price, n, limit); });
  const auto sums = call.gather(mine.sum);
  call.settle();
  return {std::accumulate(sums.begin(), sums.end(), std::int64_t{0}, add), mine.rung};
}

// ---- Subset sums.

namespace detail {

/// The items of all ranks, on every rank.
inline std::vector<std::int64_t> all_items(Call& call, const std::int64_t* items, std::int64_t n) {
  const auto counts = call.gather(n);
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::int64_t first = std::accumulate(counts.begin(), counts.begin() + call.rank(), std::int64_t{0});
  call.run(0, [&] {
    if (total > INT_MAX) throw Error(Code::unsupported, "more than 2^31 items over all ranks");
  });
  call.run(first, [&] { upsweep::detail::require_items(items, n); });
  call.settle();
  std::vector<int> sizes(counts.begin(), counts.end());
  std::vector<int> places(counts.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
  std::vector<std::int64_t> all(static_cast<std::size_t>(total));
  check(MPI_Allgatherv(items, static_cast<int>(n), MPI_INT64_T, all.data(), sizes.data(), places.data(), MPI_INT64_T,
                       call.comm()),
        "MPI_Allgatherv");
  return all;
}

/// The id of a rung as text of the program's, which a rank needs to name one that ran elsewhere.
inline std::string_view rung_called(std::string_view id) {
  for (const RungInfo& rung : ladder("subset-sum")) {
    if (rung.id == id) return rung.id;
  }
  return "none";
}

/// Rank 0's answer, on every rank.
inline SubsetSum broadcast(const Call& call, SubsetSum answer) {
  struct {
    std::int64_t sum;
    std::int64_t indices;
    bool reachable;
    std::array<char, 48> rung;
  } sent{answer.sum, std::ssize(answer.indices), answer.reachable, {}};
  answer.rung.copy(sent.rung.data(), sent.rung.size() - 1);
  call.broadcast(&sent, sizeof sent);
  answer.sum = sent.sum;
  answer.reachable = sent.reachable;
  answer.rung = rung_called(sent.rung.data());
  answer.indices.resize(static_cast<std::size_t>(sent.indices));
  call.broadcast(answer.indices.data(), sent.indices * std::int64_t{sizeof(std::int64_t)});
  return answer;
}

/// The search by remainders, its classes dealt out to the ranks.
inline SubsetSum share_search(Call& call, const Policy& policy, const std::vector<std::int64_t>& items,
                              std::int64_t target, const SubsetSumOptions& options) {
  using upsweep::detail::SharedSearch;
  std::exception_ptr broken;
  bool has_told = false;
  bool failed_elsewhere = false;
  const SharedSearch shared{call.rank(), call.size(), [&](std::int64_t found) {
                              has_told = true;
                              try {
                                const std::int64_t least = call.least(found);
                                failed_elsewhere = least == SharedSearch::kFailed && found != SharedSearch::kFailed;
                                return least;
                              } catch (const Error&) {
                                broken = std::current_exception();
                                return SharedSearch::kFailed;
                              }
                            }};
  SubsetSum answer;
  call.run(0, [&] {
    try {
      answer = upsweep::detail::share_subset_sum(policy, items.data(), std::ssize(items), target, options, shared);
    } catch (...) {
      if (broken) return;
      if (!has_told) (void)shared.least(SharedSearch::kFailed);  // the others wait for this rank
      if (!failed_elsewhere) throw;
    }
  });
  if (broken) std::rethrow_exception(broken);
  call.settle();
  return answer;
}

}  // namespace detail

/// Whether some of the items of all ranks add up to the target, and which: positions over all ranks. n items are given here.
/// Rank 0 does what needs no long search, and all that by which bitmaps are filled; a search among lists of sums, for an exact
/// target, is done by all, each its part, by cpu.schroeppel_shamir. The answer is the same for any number of ranks, unless
/// memory or a rung that is asked for makes rank 0 go another way.
inline SubsetSum find_subset(MPI_Comm comm, const Policy& policy, const std::int64_t* items, std::int64_t n,
                             std::int64_t target, const SubsetSumOptions& options = {}) {
  using detail::Function;
  const detail::Hash arguments = detail::Hash() << target << options.witness << options.below << options.above
                                                << options.reduce << options.early_stop;
  detail::Call call(comm, detail::signature(Function::find_subset, Type::int64, arguments.sum()));
  const auto all = detail::all_items(call, items, n);
  SubsetSum answer;
  bool is_shared = false;
  if (call.rank() == 0) {
    call.run(0, [&] {
      auto begun = upsweep::detail::begin_subset_sum(policy, all.data(), std::ssize(all), target, options);
      is_shared = !begun;
      if (begun) answer = *std::move(begun);
    });
  }
  call.settle();
  call.broadcast(&is_shared, sizeof is_shared);
  if (is_shared) answer = detail::share_search(call, policy, all, target, options);
  return detail::broadcast(call, std::move(answer));
}

}  // namespace upsweep::mpi
