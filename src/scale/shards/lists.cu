// SPDX-License-Identifier: Apache-2.0
// scale/shards/lists.cu: reductions of lists over the members of a group, including lists that cross shards.
//
// A member folds its lists in the usual way, with offsets that count over all shards. Its last list is clipped at the
// end of the shard. The elements before its first list, the head, are a separate list. The member in which a list
// begins folds the heads of later members into that list.
//
// A member's kernels therefore find all invalid offsets in the usual way, except whether shards fit together. The first
// member compares the shards and determines the first bad list of all members.
//
// Sums of floats must distinguish which shards of a list have elements. The sum of -0.0 alone is -0.0, but the sum of
// zero elements is 0.0.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/checked.hpp"
#include "core/visit.hpp"
#include "cuda/list_call.hpp"
#include "scale/shards/group.hpp"
#include "scale/shards/one_thread.cuh"
#include "upsweep/detail/segmented_reduce_lists.cuh"
#include "upsweep/detail/tuning/shards.hpp"

namespace upsweep::shards {
namespace {

/// Position of a member's elements and lists among those of all members.
struct ShardPosition {
  std::int64_t first_element;
  std::int64_t elements;
  std::int64_t first_list;
  std::int64_t lists;

  [[nodiscard]] __host__ __device__ bool has_offsets() const { return lists > 0 || elements > 0; }
};

/// Summary of a member's lists. It is stored in the member's memory and then copied to the first member's.
struct ListsValue {
  std::int64_t begin;  ///< start of its first list; `end` is the end of its last list; both count over all shards
  std::int64_t end;
  std::int64_t first_list;
  std::int64_t lists;
  bool has_offsets;
  bool begins_past;  ///< the first list, which may be empty, begins past the end of the shard
  gpu::ListsStatus outcome;
};
static_assert(sizeof(ListsValue) <= gpu::kValueBytes);

/// The rest of a member's memory that others may read.
struct ListsBuffer {
  ListsValue value;               ///< not used by the first member, which stores all values elsewhere
  std::int64_t head[2];           ///< offsets of the one list that is the head, relative to the shard's first element
  std::int64_t tail[2];           ///< offsets of the shard's elements of the last list
  gpu::ListsStatus head_outcome;  ///< ignored: a head is never bad

  static constexpr std::int64_t kHeadFold = 128;  ///< offset in bytes of the result of the member's head
  static constexpr std::int64_t kFolds = 256;     ///< offset in bytes of the results of later members' heads
  static constexpr std::int64_t kFoldsBytes = gpu::kBufferBytes - kFolds;
};
static_assert(sizeof(ListsBuffer) <= ListsBuffer::kHeadFold);

/// Determines with one thread where the member's lists begin and end, and its head and tail.
template <class T>
__global__ void look_at_ends(const T* offsets, ShardPosition place, std::int64_t* head, std::int64_t* tail,
                             ListsValue* value) {
  value->first_list = place.first_list;
  value->lists = place.lists;
  value->has_offsets = place.has_offsets();
  value->begins_past = false;
  value->outcome = {kNoIndex, Code::ok};
  head[0] = head[1] = 0;
  tail[0] = tail[1] = 0;
  if (!place.has_offsets()) return;
  value->begin = static_cast<std::int64_t>(offsets[0]);
  value->end = static_cast<std::int64_t>(offsets[place.lists]);
  const auto in_shard = [&](std::int64_t bound) {
    const std::int64_t at = bound - place.first_element;
    return at < 0 ? 0 : at < place.elements ? at : place.elements;
  };
  value->begins_past = place.lists > 0 && value->begin - place.first_element > place.elements;
  head[1] = in_shard(value->begin);
  if (place.lists == 0) return;
  tail[0] = in_shard(static_cast<std::int64_t>(offsets[place.lists - 1]));
  tail[1] = in_shard(value->end);
}

/// A head's sum of floats, and whether the head has an element that is not null.
template <class T>
struct SumOfHead {
  T value;
  bool any;
};

/// Returns whether an element between these bounds is not null. One thread block executes it and stops at the first row
/// that has one.
constexpr unsigned kLookThreads = gpu::tuning::kShards.look_threads;
__device__ bool has_element(const std::int64_t* bounds, const impl::segmented_reduce::Booleans& valid) {
  for (std::int64_t row = bounds[0]; row < bounds[1]; row += kLookThreads) {
    const std::int64_t i = row + threadIdx.x;
    if (__syncthreads_or(i < bounds[1] && valid[i])) return true;
  }
  return false;
}
template <class T>
__global__ void note_elements(const std::int64_t* head, impl::segmented_reduce::Booleans valid, SumOfHead<T>* sum) {
  const bool any = has_element(head, valid);
  if (threadIdx.x == 0) sum->any = any;
}
/// *total ← *total + the sums of the heads, where *total is the sum of the tail. Heads and tails without elements are
/// skipped.
template <class T>
__global__ void append_sums(T* total, const SumOfHead<T>* heads, std::int64_t count, const std::int64_t* tail,
                            impl::segmented_reduce::Booleans valid) {
  bool any = has_element(tail, valid);
  if (threadIdx.x > 0) return;
  T sum = any ? *total : static_cast<T>(-0.0);
  for (std::int64_t i = 0; i < count; ++i) {
    if (!heads[i].any) continue;
    sum += heads[i].value;
    any = true;
  }
  *total = any ? sum : T{0};
}

/// Determines the first bad list of all members. If a start is reported as negative, the list begins before its shard.
__global__ void conclude(const std::byte* values, std::size_t members, std::int64_t elements,
                         gpu::ListsStatus* status) {
  const ListsValue* last = nullptr;  // the last member that has lists
  const auto last_list = [&] { return last->first_list + last->lists - 1; };
  for (std::size_t m = 0; m < members; ++m) {
    const auto& value = *reinterpret_cast<const ListsValue*>(values + m * gpu::kValueBytes);
    if (!value.has_offsets) continue;
    if (last != nullptr && last->end != value.begin) {
      *status = {last_list(), Code::invalid_argument};
      return;
    }
    if (value.begins_past) {
      *status = {value.first_list, Code::index_out_of_range};
      return;
    }
    if (value.outcome.first_bad != kNoIndex) {
      const Code code = value.outcome.code;
      *status = {value.first_list + value.outcome.first_bad,
                 code == Code::negative_start ? Code::index_out_of_range : code};
      return;
    }
    if (value.lists > 0) last = &value;
  }
  const bool ends_past = last != nullptr && last->end > elements;
  *status = {ends_past ? last_list() : kNoIndex, ends_past ? Code::stop_past_end : Code::ok};
}

std::vector<ShardPosition> places_of(const std::vector<detail::SegmentedReduceCall>& calls) {
  std::vector<ShardPosition> places;
  ShardPosition next{};
  for (const detail::SegmentedReduceCall& call : calls) {
    next.elements = call.n;
    next.lists = call.lists.count;
    places.push_back(next);
    next.first_element += next.elements;
    next.first_list += next.lists;
  }
  return places;
}

/// The elements that a member has of a list that begins in an earlier member; `number` counts these heads per list.
struct Head {
  std::size_t member;
  std::size_t owner;
  std::int64_t number;
};
std::vector<Head> heads_of(const std::vector<ShardPosition>& places) {
  std::vector<Head> heads;
  std::size_t owner = places.size();  // not known yet
  std::int64_t number = 0;
  for (std::size_t m = 0; m < places.size(); ++m) {
    if (owner < places.size() && places[m].elements > 0) heads.push_back({m, owner, number++});
    if (places[m].lists == 0) continue;
    owner = m;
    number = 0;
  }
  return heads;
}

void require_shard(const gpu::Policy& policy, const detail::SegmentedReduceCall& call, const ShardPosition& place) {
  const Lists& lists = call.lists;
  if (lists.has_size || !lists.are_adjacent() || lists.valid.is_given()) {
    throw Error(Code::unsupported,
                "lists that cross shards must be given by offsets and must not be null (elements may be null)");
  }
  require_checks(call, policy.overflow);
  if (policy.overflow == Overflow::checked && call.op == Operator::add && is_integer(call.out_type)) {
    throw Error(Code::unsupported, "sums of lists that cross shards wrap and cannot be checked for overflow");
  }
  detail::require_lists(Lists::by_offsets<std::int64_t>(nullptr, lists.count), call.n, detail::ArraysAre::to_come);
  detail::require_array(call.in, call.n, "content");
  detail::require_array(call.out, lists.count, "output");
  detail::require_mask(call.valid, call.n, "the validity of the elements");
  if (!place.has_offsets()) return;
  detail::require_array(lists.starts, 1, "offsets");
  const gpu::CurrentDevice current(policy.device);
  gpu::require_device_memory(lists.starts, policy.device, "offsets");
  gpu::require_device_array(call.in, call.n, policy.device, "content");
  gpu::require_device_array(call.out, lists.count, policy.device, "output");
}

/// A reduction of lists, in steps.
class ListsFold {
 public:
  ListsFold(const gpu::Group::State& state, detail::ShardLists& lists)
      : state_(state), lists_(lists), calls_(lists.calls), places_(places_of(calls_)), heads_(heads_of(places_)) {
    for (std::size_t m = 0; m < calls_.size(); ++m) {
      gpu::in_shard(m, [&] { require_shard(state_.members[m], calls_[m], places_[m]); });
    }
    const std::int64_t most = ListsBuffer::kFoldsBytes / head_bytes() + 1;
    if (std::ssize(calls_) > most) {
      throw Error(Code::unsupported, "lists of this element type support " + std::to_string(most) + " shards or fewer");
    }
  }

  /// Reduces the lists of all members and writes the outcome into *status. Returns the rung of the first member that
  /// has lists.
  std::string_view run(gpu::ListsStatus* status) {
    std::string_view rung = "none";
    for (std::size_t m = calls_.size(); m-- > 0;) {
      const auto its_rung = gpu::in_shard(m, [&] { return fold(m); });
      if (!its_rung.empty()) rung = its_rung;
    }
    for (const Head& head : heads_) fold_head(head);
    for (std::size_t m = 0; m < calls_.size(); ++m) append_heads(m);
    for (std::size_t m = 1; m < calls_.size(); ++m) {
      state_.copy(value_near(m), state_.value_of(m), sizeof(ListsValue), m);
      state_.give(m);
    }
    const ShardPosition& last = places_.back();
    launch_one(conclude, state_.members[0].stream, static_cast<const std::byte*>(state_.values->get()), calls_.size(),
               last.first_element + last.elements, status);
    state_.release();
    return rung;
  }

  /// Throws the Error of the first bad list.
  [[noreturn]] void throw_bad(const gpu::ListsStatus& status) const {
    const std::int64_t list = status.first_bad;
    std::size_t m = calls_.size() - 1;
    while (list < places_[m].first_list || places_[m].lists == 0) --m;
    const ShardPosition& place = places_[m];
    const gpu::CurrentDevice current(state_.members[m].device);
    const gpu::FetchedList bad(calls_[m].lists, list - place.first_list, state_.members[m].stream);
    const std::string shard = "shard " + std::to_string(m) + ": ";
    if (status.code == Code::stop_before_start) {
      throw Error(status.code, shard + detail::invalid_list(status.code, list, bad.start, bad.stop, 0), list);
    }
    const char* const fault = status.code == Code::index_out_of_range ? "does not begin in the shard"
                              : status.code == Code::stop_past_end ? "extends past its last valid element"
                                                                   : "does not end where the next shard's lists begin";
    const auto range = [](std::int64_t first, std::int64_t stop) {
      return "[" + std::to_string(first) + ", " + std::to_string(stop) + ")";
    };
    throw Error(
        status.code,
        shard + detail::invalid_list(list, range(bad.start, bad.stop) + " " + fault + "; the shard has the elements " +
                                               range(place.first_element, place.first_element + place.elements)),
        list);
  }

 private:
  [[nodiscard]] ListsValue* value_near(std::size_t m) const { return static_cast<ListsValue*>(state_.value_near(m)); }
  [[nodiscard]] ListsBuffer* buffer_of(std::size_t m) const {
    return static_cast<ListsBuffer*>(state_.buffers[m]->get());
  }
  [[nodiscard]] void* buffer_at(std::size_t m, std::int64_t bytes) const {
    return static_cast<std::byte*>(state_.buffers[m]->get()) + bytes;
  }
  /// Returns where the owner of a head's list finds the result of the head.
  [[nodiscard]] void* place_of(const Head& head) const {
    return buffer_at(head.owner, ListsBuffer::kFolds + head.number * head_bytes());
  }
  [[nodiscard]] std::int64_t head_bytes() const {
    if (lists_.heads != nullptr) return lists_.heads->bytes;
    return adds_floats() ? 2 * calls_[0].out_size : calls_[0].out_size;  // a SumOfHead, or one element
  }
  /// Returns whether the call is a sum of floats without an initial value: see SumOfHead.
  [[nodiscard]] bool adds_floats() const { return calls_[0].empty_is_zero; }
  /// Calls f(T{}) with the type of such sums.
  template <class F>
  void visit_sum(F f) const {
    if (calls_[0].out_type == Type::float32) return f(float{});
    f(double{});
  }
  /// Enqueues into a member's stream a kernel of one block that searches for elements.
  template <class... Parameters, class... Arguments>
  void look(std::size_t m, void (*kernel)(Parameters...), Arguments... arguments) const {
    const gpu::detail::Grid grid{.blocks = 1, .threads = kLookThreads, .stream = state_.members[m].stream};
    gpu::require(gpu::detail::launch(grid, kernel, arguments...), "launching a kernel");
  }

  /// Folds a member's own lists. Returns the rung if the member has lists.
  std::string_view fold(std::size_t m) {
    const gpu::Policy& policy = state_.members[m];
    const gpu::CurrentDevice current(policy.device);
    const ShardPosition& place = places_[m];
    visit_list_bound(calls_[m].lists.type, [&]<class T>(std::type_identity<T>) {
      launch_one(look_at_ends<T>, policy.stream, static_cast<const T*>(calls_[m].lists.starts), place,
                 buffer_of(m)->head, buffer_of(m)->tail, value_near(m));
    });
    if (place.lists == 0) return {};
    detail::SegmentedReduceCall call = calls_[m];
    call.first = place.first_element;
    call.cuts_last = true;
    call.status = &value_near(m)->outcome;
    return run(m, call);
  }
  /// Folds a member's head for the member that owns the list.
  void fold_head(const Head& head) {
    const gpu::CurrentDevice current(state_.members[head.member].device);
    detail::SegmentedReduceCall call = calls_[head.member];
    call.lists = Lists::by_offsets(buffer_of(head.member)->head, 1);
    call.out =
        state_.has_access(head.member, head.owner) ? place_of(head) : buffer_at(head.member, ListsBuffer::kHeadFold);
    call.out_is_reached = true;
    if (lists_.heads != nullptr) {
      call.device = lists_.heads->fold;
    } else {
      call.init = lists_.identity;
      call.empty_is_zero = false;  // zero elements give the identity, for every type
    }
    call.status = &buffer_of(head.member)->head_outcome;
    gpu::in_shard(head.member, [&] { (void)run(head.member, call); });
    if (adds_floats()) {
      visit_sum([&]<class T>(T) {
        look(head.member, note_elements<T>, static_cast<const std::int64_t*>(buffer_of(head.member)->head),
             impl::segmented_reduce::booleans(call.valid), static_cast<SumOfHead<T>*>(call.out));
      });
    }
    state_.given.record(head.member);
  }
  [[nodiscard]] std::string_view run(std::size_t m, const detail::SegmentedReduceCall& call) const {
    const gpu::WorkspaceSize needed = segmented_reduce_workspace(state_.members[m], call);
    return run_segmented_reduce(state_.policy_for(gpu::Work::lists, m, needed), call);
  }

  /// Folds the elements of a member's last list that are stored in later shards into its result.
  void append_heads(std::size_t m) {
    std::int64_t count = 0;
    for (const Head& head : heads_) {
      if (head.owner != m) continue;
      state_.given.wait_for(head.member, m);
      if (!state_.has_access(head.member, m)) {
        state_.copy(buffer_at(head.member, ListsBuffer::kHeadFold), place_of(head), head_bytes(), m);
      }
      ++count;
    }
    if (count == 0) return;
    const gpu::CurrentDevice current(state_.members[m].device);
    const detail::SegmentedReduceCall& call = calls_[m];
    append(m, static_cast<std::byte*>(call.out) + (places_[m].lists - 1) * call.out_size, count);
    state_.taken.record(m);
    for (const Head& head : heads_) {
      if (head.owner == m) state_.taken.wait_for(m, head.member);  // before the heads of the next call
    }
  }
  /// *total ← *total ⊕ the heads in the member's buffer.
  void append(std::size_t m, void* total, std::int64_t heads) const {
    const void* const folds = buffer_at(m, ListsBuffer::kFolds);
    if (lists_.heads != nullptr) {
      const Status status = lists_.heads->merge(calls_[m], total, folds, heads, state_.members[m].stream);
      if (!status.ok()) throw_status(status, "cuda.lanes");
      return;
    }
    if (adds_floats()) {
      visit_sum([&]<class T>(T) {
        look(m, append_sums<T>, static_cast<T*>(total), static_cast<const SumOfHead<T>*>(folds), heads,
             static_cast<const std::int64_t*>(buffer_of(m)->tail), impl::segmented_reduce::booleans(calls_[m].valid));
      });
      return;
    }
    detail::ReduceCall call = lists_.merge;
    call.in = folds;
    call.n = heads;
    call.out = total;
    call.init_at = total;
    const gpu::Policy policy = state_.members[m].with_rung({});  // a requested rung names a rung of the list ladder
    const gpu::WorkspaceSize needed = reduce_workspace(policy, call);
    run_reduce(state_.policy_for(gpu::Work::reduction, m, needed).with_rung({}), call);
  }

  const gpu::Group::State& state_;
  const detail::ShardLists& lists_;
  const std::vector<detail::SegmentedReduceCall>& calls_;
  std::vector<ShardPosition> places_;
  std::vector<Head> heads_;
};

}  // namespace
}  // namespace upsweep::shards

namespace upsweep {

std::string_view detail::run_segmented_reduce(const gpu::Group& group, ShardLists& lists, gpu::ListsStatus* status) {
  const gpu::Group::State& state = group.state();
  require_members(group, lists.calls.size());
  const gpu::Policy& first = state.members[0];
  shards::ListsFold fold(state, lists);
  const gpu::CurrentDevice current(first.device);
  const bool waits = status == nullptr;
  if (waits) gpu::require_no_capture(first.stream, "segmented_reduce_async");
  if (!waits) gpu::require_device_memory(status, first.device, "status");
  if (waits) status = static_cast<gpu::ListsStatus*>(state.value_of(lists.calls.size()));

  const std::lock_guard lock(state.calling);
  std::string_view rung;
  state.run([&] { rung = fold.run(status); });
  if (!waits) return rung;
  gpu::ListsStatus outcome = {};
  gpu::fetch(&outcome, status, sizeof outcome, first.stream);
  if (outcome.first_bad != kNoIndex) fold.throw_bad(outcome);
  return rung;
}

}  // namespace upsweep
