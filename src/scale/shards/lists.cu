// SPDX-License-Identifier: Apache-2.0
// scale/shards/lists.cu: reductions of lists over the members of a group: each its own lists, and the part of an earlier member's before them.
//
// A member folds its lists as anywhere, by offsets that count over all shards, the last one cut off where the shard ends; what comes
// before the first one, the head, is a list of its own. Heads are folded into the list that they belong to by the member that it
// begins with. So whatever is wrong with offsets is found as anywhere, but whether shards fit together: the first member compares
// that, and has the first bad list of all.
//
// Sums of floats need to know which parts of a list have elements: the sum of -0.0 alone is -0.0, the sum of no element is 0.0.
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

/// Where a member's elements and lists are among those of all.
struct ShardPosition {
  std::int64_t first_element;
  std::int64_t elements;
  std::int64_t first_list;
  std::int64_t lists;

  [[nodiscard]] __host__ __device__ bool has_offsets() const { return lists > 0 || elements > 0; }
};

/// What its lists come to, in its memory and then in the first one's.
struct ListsValue {
  std::int64_t begin;  ///< of its first list, and the end of its last, over all shards
  std::int64_t end;
  std::int64_t first_list;
  std::int64_t lists;
  bool has_offsets;
  bool begins_past;  ///< the first list, which may be empty, begins past the shard's end
  gpu::ListsStatus outcome;
};
static_assert(sizeof(ListsValue) <= gpu::kValueBytes);

/// What else a member has in the memory that others may read.
struct ListsBuffer {
  ListsValue value;               ///< but the first one's, which is where all values go
  std::int64_t head[2];           ///< the offsets of the one list that the head is, from the shard's first element on
  std::int64_t tail[2];           ///< the same of what the last list has in the shard
  gpu::ListsStatus head_outcome;  ///< of no interest: a head is never bad

  static constexpr std::int64_t kHeadFold = 128;  ///< bytes from the beginning: what the head comes to
  static constexpr std::int64_t kFolds = 256;     ///< the same: of later members' heads
  static constexpr std::int64_t kFoldsBytes = gpu::kBufferBytes - kFolds;
};
static_assert(sizeof(ListsBuffer) <= ListsBuffer::kHeadFold);

/// By one thread: where the member's lists begin and end, its head and its tail.
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

/// A head's sum of floats, and whether it has an element that is not null.
template <class T>
struct SumOfHead {
  T value;
  bool any;
};

/// By one block: whether there is an element between these bounds that is not null. It ends at the first row that has one.
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
/// *total ← *total, which is the sum of the tail, + those of the heads. Parts without elements take no part.
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

/// The first bad list of all. Where a start is called negative, the list begins before its shard.
__global__ void conclude(const std::byte* values, std::size_t members, std::int64_t elements,
                         gpu::ListsStatus* status) {
  const ListsValue* last = nullptr;  // that has lists
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

/// What a member has of a list that begins in an earlier one: the number-th such part.
struct Head {
  std::size_t member;
  std::size_t owner;
  std::int64_t number;
};
std::vector<Head> heads_of(const std::vector<ShardPosition>& places) {
  std::vector<Head> heads;
  std::size_t owner = places.size();  // none yet
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
                "lists that cross shards are given by offsets, and none of them is null (elements may be)");
  }
  require_checks(call, policy.overflow);
  if (policy.overflow == Overflow::checked && call.op == Operator::add && is_integer(call.out_type)) {
    throw Error(Code::unsupported, "sums of lists that cross shards wrap around, and cannot be checked");
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

/// A call, in steps.
class ListsFold {
 public:
  ListsFold(const gpu::Group::State& state, detail::ShardLists& lists)
      : state_(state), lists_(lists), calls_(lists.calls), places_(places_of(calls_)), heads_(heads_of(places_)) {
    for (std::size_t m = 0; m < calls_.size(); ++m) {
      gpu::in_shard(m, [&] { require_shard(state_.members[m], calls_[m], places_[m]); });
    }
    const std::int64_t most = ListsBuffer::kFoldsBytes / head_bytes() + 1;
    if (std::ssize(calls_) > most) {
      throw Error(Code::unsupported, "lists of such elements lie in " + std::to_string(most) + " shards at most");
    }
  }

  /// The lists of all members, and the outcome into *status. Returns the rung of the first that has lists.
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
                              : status.code == Code::stop_past_end ? "goes past the last element that it may have"
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
  /// Where the owner of its list finds what a head comes to.
  [[nodiscard]] void* place_of(const Head& head) const {
    return buffer_at(head.owner, ListsBuffer::kFolds + head.number * head_bytes());
  }
  [[nodiscard]] std::int64_t head_bytes() const {
    if (lists_.heads != nullptr) return lists_.heads->bytes;
    return adds_floats() ? 2 * calls_[0].out_size : calls_[0].out_size;  // a SumOfHead, or an element
  }
  /// Without an initial value: see SumOfHead.
  [[nodiscard]] bool adds_floats() const { return calls_[0].empty_is_zero; }
  /// f(T{}) by the type of such sums.
  template <class F>
  void visit_sum(F f) const {
    if (calls_[0].out_type == Type::float32) return f(float{});
    f(double{});
  }
  /// Puts a kernel of one block that looks for elements into a member's stream.
  template <class... Parameters, class... Arguments>
  void look(std::size_t m, void (*kernel)(Parameters...), Arguments... arguments) const {
    const gpu::detail::Grid grid{.blocks = 1, .threads = kLookThreads, .stream = state_.members[m].stream};
    gpu::require(gpu::detail::launch(grid, kernel, arguments...), "launching a kernel");
  }

  /// Of a member: its lists, as far as they are its own. Returns the rung, if it has lists.
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
  /// A member's head, for the one with the list that it belongs to.
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
      call.empty_is_zero = false;  // of no elements the identity, whatever the type
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

  /// What of a member's last list lies in later shards.
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
      if (head.owner == m) state_.taken.wait_for(m, head.member);  // before the next call's heads
    }
  }
  /// *total ← *total ⊕ the heads that lie in the member's buffer.
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
    const gpu::Policy policy = state_.members[m].with_rung({});  // one that is asked for is of the lists' ladder
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
